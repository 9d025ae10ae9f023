"""Analysis of reduction bodies that compare and select, such as that of an argmax: may shards be reduced first?

The body is evaluated on every case: a body that only compares elements of one result, and returns one of them, depends
only on their order. Three elements have 13 orders, 26 with NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from math import prod
from operator import not_
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from sdy.dialects.constants.elements import FloatCodec, IntCodec, Scalar, codec_of
from sdy.dialects.stablehlo import elementwise as ops
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection, ComparisonType
from sdy.dialects.stablehlo.attributes.types import element_type_of
from sdy.dialects.stablehlo.control import ReturnOp
from sdy.partitioner.on_shards.combiners import extreme

MOST_CASES = 1000  # per body; a body with two results has at most 676


class Element(NamedTuple):
    """An element: its rank in the order of the elements of a result, and its identity among elements of equal rank.

    `level` is None for NaN. Equal integers are identical; equal floats may differ, because there are two zeros.
    """

    level: int | None
    identity: int


class Domain(NamedTuple):
    """The possible elements of a result: whether equal ones are identical, and whether the init is an extreme."""

    is_exact: bool
    init_is_least: bool
    init_is_largest: bool


class BodyOp(NamedTuple):
    """An op of a body. Its operands are numbers: the arguments come first, then the results of earlier ops."""

    op: type[Operation]
    operands: tuple[int, ...]
    direction: ComparisonDirection | None


@dataclass(frozen=True, slots=True)
class SelectingBody:
    """A body that only compares and selects."""

    body_ops: tuple[BodyOp, ...]
    returned: tuple[int, ...]


Cell = Element | bool
Elements = tuple[Element, ...]  # one per result
Triple = tuple[Element, Element, Element]
Combine = Callable[[Elements, Elements], Elements]

COMPARE: dict[ComparisonDirection, Callable[[int, int], bool]] = {
    ComparisonDirection.EQ: int.__eq__,
    ComparisonDirection.NE: int.__ne__,
    ComparisonDirection.LT: int.__lt__,
    ComparisonDirection.LE: int.__le__,
    ComparisonDirection.GT: int.__gt__,
    ComparisonDirection.GE: int.__ge__,
}
LOGIC: dict[type[Operation], Callable[..., bool]] = {
    ops.AndOp: bool.__and__,
    ops.OrOp: bool.__or__,
    ops.XorOp: bool.__xor__,
    ops.NotOp: not_,
}


def can_reduce_shards_first(body: Block, inits: Sequence[Scalar | None]) -> bool:
    """Return whether reducing each shard from `inits`, and then the results in order, equals reducing all elements.

    With a*b for the body and i for the inits, the conditions for all elements are (a*b)*c = a*(b*c), (i*a)*(i*b) =
    i*(a*b) and i*(i*a) = i*a. An unknown init is None. Returns False for a body that does more than compare and select.
    """
    parsed = _selecting_body(body)
    if parsed is None:
        return False
    types = [element_type_of(argument) for argument in body.args[: len(inits)]]
    return _holds_in_every_case(parsed, tuple(map(_domain, types, inits)))


def ignores_trailing_inits(body: Block, inits: Sequence[Scalar | None]) -> bool:
    """Return whether combining the inits once more after all elements changes nothing: (i*a)*i = i*a."""
    parsed = _selecting_body(body)
    if parsed is None:
        return False
    orders = [
        _orders_with_init(_domain(element_type_of(argument), init))
        for argument, init in zip(body.args, inits, strict=False)  # the second half are the new elements
    ]
    if prod(map(len, orders)) > MOST_CASES:
        return False
    reduced_cases = [(init, _run(parsed, init, first)) for init, first, _ in _cases(orders)]
    return all(_run(parsed, reduced, init) == reduced for init, reduced in reduced_cases)


@lru_cache(maxsize=256)
def _holds_in_every_case(body: SelectingBody, domains: tuple[Domain, ...]) -> bool:
    if prod(len(_orders(domain.is_exact)) for domain in domains) > MOST_CASES:
        return False

    @cache
    def combine(lhs: Elements, rhs: Elements) -> Elements:
        return _run(body, lhs, rhs)

    all_cases = _cases([_orders(domain.is_exact) for domain in domains])
    with_init = _cases([_orders_with_init(domain) for domain in domains])
    return all(_is_associative(combine, *case) for case in all_cases) and all(
        _absorbs(combine, *case) for case in with_init
    )


def _is_associative(combine: Combine, first: Elements, second: Elements, third: Elements) -> bool:
    return combine(combine(first, second), third) == combine(first, combine(second, third))


def _absorbs(combine: Combine, init: Elements, first: Elements, second: Elements) -> bool:
    """Return whether an init before each part gives the same result as one init before all elements."""
    reduced_cases = combine(init, first)
    apart = combine(reduced_cases, combine(init, second))
    return combine(init, reduced_cases) == reduced_cases and apart == combine(init, combine(first, second))


# Enumeration of elements


def _domain(element_type: Attribute, init: Scalar | None) -> Domain:
    is_exact = isinstance(element_type, IntegerType)
    least, largest = (extreme(element_type, largest=is_largest) for is_largest in (False, True))
    return Domain(is_exact, init == least, init == largest)


def _cases(orders: Sequence[Sequence[Triple]]) -> Iterator[tuple[Elements, Elements, Elements]]:
    """Yield three elements for each result, in every combination of their orders."""
    for case in product(*orders):
        first, second, third = zip(*case, strict=True)
        yield first, second, third


@cache
def _orders(is_exact: bool) -> tuple[Triple, ...]:
    """Return every order of three elements."""
    return tuple(
        _triple(levels, is_exact=is_exact)
        for levels in product((None, 0, 1, 2), repeat=3)
        if _is_dense(levels) and not (is_exact and None in levels)
    )


def _is_dense(levels: Sequence[int | None]) -> bool:
    """Return whether the levels have no gaps, so that each order occurs once."""
    present = {level for level in levels if level is not None}
    return present == set(range(len(present)))


def _triple(levels: Sequence[int | None], *, is_exact: bool) -> Triple:
    first, second, third = (Element(level, 0 if is_exact else number) for number, level in enumerate(levels))
    return first, second, third


def _orders_with_init(domain: Domain) -> tuple[Triple, ...]:
    """Return every order of three elements whose first is the init."""
    orders = _orders(domain.is_exact)
    if not (domain.init_is_least or domain.init_is_largest):
        return orders
    sign = 1 if domain.init_is_least else -1
    return tuple(
        _with_exact_init(triple)
        for triple in orders
        if (init_level := triple[0].level) is not None
        and all(other.level is None or sign * init_level <= sign * other.level for other in triple)
    )


def _with_exact_init(triple: Triple) -> Triple:
    """Replace elements that equal the init by the init: an extreme of a type is a single value."""
    init, first, second = triple
    return (
        init,
        init if first.level == init.level else first,
        init if second.level == init.level else second,
    )


# Analysis and evaluation of a body


def _selecting_body(body: Block) -> SelectingBody | None:
    """Return the ops of a body, None if one does more than compare and select or uses a value from outside."""
    count = len(body.args) // 2
    number_of: dict[SSAValue, int] = {}
    result_of: list[int | None] = []  # the result that a value belongs to; None for a boolean
    for number, argument in enumerate(body.args):
        if not isinstance(codec_of(element_type_of(argument)), IntCodec | FloatCodec):
            return None
        number_of[argument] = number
        result_of.append(number % count)
    body_ops: list[BodyOp] = []
    for op in body.ops:
        if not all(operand in number_of for operand in op.operands):
            return None
        operands = tuple(number_of[operand] for operand in op.operands)
        results = [result_of[number] for number in operands]
        if isinstance(op, ReturnOp):
            return SelectingBody(tuple(body_ops), operands) if results == list(range(count)) else None
        if not _is_supported(op, results):
            return None
        number_of[op.results[0]] = len(result_of)
        result_of.append(results[1] if isinstance(op, ops.SelectOp) else None)
        direction = op.comparison_direction.data if isinstance(op, ops.CompareOp) else None
        body_ops.append(BodyOp(type(op), operands, direction))
    return None


def _is_supported(op: Operation, results: Sequence[int | None]) -> bool:
    """Return whether an op compares elements of one result, selects between them, or combines booleans."""
    match op:
        case ops.CompareOp():
            is_total = op.compare_type is not None and op.compare_type.data is ComparisonType.TOTALORDER
            return not is_total and results[0] == results[1] is not None
        case ops.SelectOp():
            return results[0] is None and results[1] == results[2] is not None
        case _:
            return type(op) in LOGIC and set(results) == {None}


def _run(body: SelectingBody, lhs: Elements, rhs: Elements) -> Elements:
    cells: list[Cell] = [*lhs, *rhs]
    for body_op in body.body_ops:
        cells.append(_result(body_op, [cells[number] for number in body_op.operands]))
    returned = (cells[number] for number in body.returned)
    return tuple(element for element in returned if isinstance(element, Element))


def _result(body_op: BodyOp, values: Sequence[Cell]) -> Cell:
    match values:
        case [Element(level=lhs), Element(level=rhs)]:
            assert body_op.direction is not None  # two elements are the operands of a comparison
            if lhs is None or rhs is None:
                return body_op.direction is ComparisonDirection.NE
            return COMPARE[body_op.direction](lhs, rhs)
        case [bool(condition), Element() as on_true, Element() as on_false]:
            return on_true if condition else on_false
        case _:
            return LOGIC[body_op.op](*values)
