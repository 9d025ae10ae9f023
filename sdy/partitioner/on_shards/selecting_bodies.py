"""Whether a region that compares and selects, such as that of an argmax, may reduce parts before it reduces the whole.

It is run on every case there is: a body that only compares elements for the same result, and hands on one of them,
can but see in which order they are. Three elements have 13 orders, 26 with NaN.
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

MOST_CASES = 1000  # of one body; two results have at most 676


class Element(NamedTuple):
    """Where an element is in the order of those for the same result, and which of those it is that compare equal there.

    `level` is None for NaN. Equal integers are the same; equal floats need not be, for there are two zeros.
    """

    level: int | None
    identity: int


class Domain(NamedTuple):
    """What elements there are for a result: whether equal ones are the same, and which end of the order the init is."""

    is_exact: bool
    init_is_least: bool
    init_is_largest: bool


class Step(NamedTuple):
    """An op of a body: its operands by number, arguments first, then what earlier steps give."""

    op: type[Operation]
    operands: tuple[int, ...]
    direction: ComparisonDirection | None


@dataclass(frozen=True, slots=True)
class Comparing:
    """A body that compares and selects."""

    steps: tuple[Step, ...]
    returned: tuple[int, ...]


Cell = Element | bool
Elements = tuple[Element, ...]  # one per result
Triple = tuple[Element, Element, Element]
Combine = Callable[[Elements, Elements], Elements]

HOLDS: dict[ComparisonDirection, Callable[[int, int], bool]] = {
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
    """Whether parts that follow each other, each reduced from `inits` on, give the whole when they are reduced again.

    So it is for a*b the body, and i the inits, where (a*b)*c = a*(b*c), (i*a)*(i*b) = i*(a*b) and i*(i*a) = i*a for all
    elements. An init is None where it is not known. Bodies that do more than compare and select are not looked into.
    """
    comparing = _comparing(body)
    if comparing is None:
        return False
    types = [element_type_of(argument) for argument in body.args[: len(inits)]]
    return _holds_in_every_case(comparing, tuple(map(_domain, types, inits)))


def ignores_trailing_inits(body: Block, inits: Sequence[Scalar | None]) -> bool:
    """Whether it makes no difference when the inits come once more, behind all elements: (i*a)*i = i*a."""
    comparing = _comparing(body)
    if comparing is None:
        return False
    orders = [
        _orders_with_init(_domain(element_type_of(argument), init))
        for argument, init in zip(body.args, inits, strict=False)  # the second half are the other elements
    ]
    if prod(map(len, orders)) > MOST_CASES:
        return False
    begun = [(init, _run(comparing, init, first)) for init, first, _ in _cases(orders)]
    return all(_run(comparing, reduced, init) == reduced for init, reduced in begun)


@lru_cache(maxsize=256)
def _holds_in_every_case(body: Comparing, domains: tuple[Domain, ...]) -> bool:
    if prod(len(_orders(domain.is_exact)) for domain in domains) > MOST_CASES:
        return False

    @cache
    def combine(lhs: Elements, rhs: Elements) -> Elements:
        return _run(body, lhs, rhs)

    every = _cases([_orders(domain.is_exact) for domain in domains])
    with_init = _cases([_orders_with_init(domain) for domain in domains])
    return all(_is_associative(combine, *case) for case in every) and all(
        _absorbs(combine, *case) for case in with_init
    )


def _is_associative(combine: Combine, first: Elements, second: Elements, third: Elements) -> bool:
    return combine(combine(first, second), third) == combine(first, combine(second, third))


def _absorbs(combine: Combine, init: Elements, first: Elements, second: Elements) -> bool:
    """Whether an init in front of each part is as good as one in front of all."""
    begun = combine(init, first)
    apart = combine(begun, combine(init, second))
    return combine(init, begun) == begun and apart == combine(init, combine(first, second))


# The elements there are


def _domain(element_type: Attribute, init: Scalar | None) -> Domain:
    is_exact = isinstance(element_type, IntegerType)
    least, largest = (extreme(element_type, largest=is_largest) for is_largest in (False, True))
    return Domain(is_exact, init == least, init == largest)


def _cases(orders: Sequence[Sequence[Triple]]) -> Iterator[tuple[Elements, Elements, Elements]]:
    """Three elements for each result, in every combination of their orders."""
    for case in product(*orders):
        first, second, third = zip(*case, strict=True)
        yield first, second, third


@cache
def _orders(is_exact: bool) -> tuple[Triple, ...]:
    """Every order of three elements."""
    return tuple(
        _triple(levels, is_exact=is_exact)
        for levels in product((None, 0, 1, 2), repeat=3)
        if _is_dense(levels) and not (is_exact and None in levels)
    )


def _is_dense(levels: Sequence[int | None]) -> bool:
    """Whether the levels are counted without gaps, so that each order comes up once."""
    present = {level for level in levels if level is not None}
    return present == set(range(len(present)))


def _triple(levels: Sequence[int | None], *, is_exact: bool) -> Triple:
    first, second, third = (Element(level, 0 if is_exact else number) for number, level in enumerate(levels))
    return first, second, third


def _orders_with_init(domain: Domain) -> tuple[Triple, ...]:
    """Every order of three elements of which the first is the init."""
    orders = _orders(domain.is_exact)
    if not (domain.init_is_least or domain.init_is_largest):
        return orders
    sign = 1 if domain.init_is_least else -1
    return tuple(
        _with_exact_init(triple)
        for triple in orders
        if (begin := triple[0].level) is not None
        and all(other.level is None or sign * begin <= sign * other.level for other in triple)
    )


def _with_exact_init(triple: Triple) -> Triple:
    """An extreme of a type is one value: what is equal to it is the same."""
    init, first, second = triple
    return (
        init,
        init if first.level == init.level else first,
        init if second.level == init.level else second,
    )


# Reading and running a body


def _comparing(body: Block) -> Comparing | None:
    """A body as steps; None where an op does more than compare and select, or takes what is not made in the body."""
    count = len(body.args) // 2
    number_of: dict[SSAValue, int] = {}
    compared: list[int | None] = []  # for which result a value is; None: a boolean that says how elements compare
    for number, argument in enumerate(body.args):
        if not isinstance(codec_of(element_type_of(argument)), IntCodec | FloatCodec):
            return None
        number_of[argument] = number
        compared.append(number % count)
    steps: list[Step] = []
    for op in body.ops:
        if not all(operand in number_of for operand in op.operands):
            return None
        operands = tuple(number_of[operand] for operand in op.operands)
        places = [compared[number] for number in operands]
        if isinstance(op, ReturnOp):
            return Comparing(tuple(steps), operands) if places == list(range(count)) else None
        if not _is_step(op, places):
            return None
        number_of[op.results[0]] = len(compared)
        compared.append(places[1] if isinstance(op, ops.SelectOp) else None)
        direction = op.comparison_direction.data if isinstance(op, ops.CompareOp) else None
        steps.append(Step(type(op), operands, direction))
    return None


def _is_step(op: Operation, places: Sequence[int | None]) -> bool:
    """Whether an op compares, or chooses between, elements for one result, or works on booleans that say so."""
    match op:
        case ops.CompareOp():
            is_total = op.compare_type is not None and op.compare_type.data is ComparisonType.TOTALORDER
            return not is_total and places[0] == places[1] is not None
        case ops.SelectOp():
            return places[0] is None and places[1] == places[2] is not None
        case _:
            return type(op) in LOGIC and set(places) == {None}


def _run(body: Comparing, lhs: Elements, rhs: Elements) -> Elements:
    cells: list[Cell] = [*lhs, *rhs]
    for step in body.steps:
        cells.append(_result(step, [cells[number] for number in step.operands]))
    returned = (cells[number] for number in body.returned)
    return tuple(element for element in returned if isinstance(element, Element))


def _result(step: Step, values: Sequence[Cell]) -> Cell:
    match values:
        case [Element(level=lhs), Element(level=rhs)]:
            assert step.direction is not None  # elements are compared, or chosen by a boolean
            if lhs is None or rhs is None:
                return step.direction is ComparisonDirection.NE
            return HOLDS[step.direction](lhs, rhs)
        case [bool(chosen), Element() as on_true, Element() as on_false]:
            return on_true if chosen else on_false
        case _:
            return LOGIC[step.op](*values)
