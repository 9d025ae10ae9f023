"""The lemma of small values: elements are followed one by one, where no other lemma holds. See `codes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.stablehlo import elementwise
from sdy.evidence.proof.factors import ints
from sdy.evidence.proof.known import DTYPES
from sdy.evidence.proof.offsets import Offset, at
from sdy.evidence.proof.op_sets import BRANCHES
from sdy.evidence.proof.relations import (
    ARBITRARY,
    Candidates,
    Codes,
    Elements,
    Known,
    NotProvedError,
    Positions,
    Relation,
    Segments,
    Unknown,
    View,
    dim_of,
    is_plain,
    is_within,
)
from sdy.evidence.proof.rings import as_integers, is_integer
from sdy.evidence.proof.small_values.choices import limits_of
from sdy.evidence.proof.small_values.codes import ElementTable, check_size
from sdy.evidence.proof.small_values.collectives import EXCHANGES, put_together, taken_apart
from sdy.evidence.proof.small_values.elementwise import pointwise
from sdy.evidence.proof.small_values.gather_scatter import scatter, update_slice
from sdy.evidence.proof.small_values.moves import MOVES
from sdy.evidence.proof.small_values.rows import branch, of_rows
from sdy.evidence.proof.small_values.sums import convolution, dot, reduce, reduce_windows
from sdy.evidence.proof.structured import BY_ROWS
from sdy.evidence.proof.walk import Step, Walk, element_of, inputs_of, returned_by, shape_of

MOST_ELEMENTS = 2**22  # of all values of a program
MOST_FACTORS = 2**12  # of a product
MOST_STEPS = 100  # from a value back to values of the global program


@dataclass(slots=True)
class Follower:
    """Follows elements, of a walk over the global program and of a later one over the local program."""

    global_walk: Walk
    module: ModuleOp
    _elements: ElementTable | None = None
    _is_small: bool | None = None
    _learned: int = 0  # steps of the global program whose terms have codes
    _learned_parts: int = 0  # results of its manual computations whose terms have codes
    _depth: int = 0  # of ops whose elements are being followed
    _kept: dict[SSAValue, tuple[Relation, Elements | None]] = field(
        default_factory=dict[SSAValue, tuple[Relation, Elements | None]]
    )

    @property
    def has_followed(self) -> bool:
        """Return whether the elements of any value were followed."""
        return self._elements is not None

    @property
    def elements(self) -> ElementTable:
        """The elements of the global program, which are found when they are first needed.

        Raises: NotProvedError if the program has large values.
        """
        if self._is_small is None:
            self._is_small = _count_elements(self.module) <= MOST_ELEMENTS
        if not self._is_small:
            raise NotProvedError("a program of large values")
        if self._elements is None:
            self._elements = ElementTable(self.global_walk.table, self.global_walk.devices)
        while self._learned_parts < len(self.global_walk.parts):
            window, part = list(self.global_walk.parts.items())[self._learned_parts]
            self._learned_parts += 1
            if isinstance(part, Elements):
                learn_part(self._elements, window, part, self.global_walk.devices)
        steps = self.global_walk.steps
        while self._learned < len(steps):
            learn(self._elements, self.global_walk, steps[self._learned])
            self._learned += 1
        return self._elements

    def lemma(self, walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
        """Lemma: equal elements are equal values."""
        table = self.elements
        if isinstance(op, ManualComputationOp):
            if walk.entered.get(op) is not operands:
                whole = [self._of_value(walk, each) for each in op.operands]
                parts = [taken_apart(walk, op, number, each) for number, each in enumerate(whole)]
                walk.block(op.body.block, [table.reading(each) or each for each in parts])
            values = [self._of_value(walk, each) for each in returned_by(op.body)]
            return [put_together(table, walk, op, number, each) for number, each in enumerate(values)]
        found = evaluated(table, walk, op, [self._of_value(walk, each) for each in inputs_of(op)])
        if walk is self.global_walk and all(len(each.codes) == 1 for each in found):
            return [table.view_of(each) for each in found]
        return [table.reading(each) or each for each in found]

    def are_equal(self, walk: Walk, value: SSAValue, whole: View | Known, bases: Sequence[Offset]) -> bool:
        """Return whether devices have the elements of a value of the program from `bases` on, as far as it goes."""
        try:
            found, (expected, *others) = self._of_value(walk, value).codes, self.elements.lifted(whole).codes
        except NotProvedError:
            return False
        if others or bool((expected == ARBITRARY).any()):
            return False
        for device in range(walk.devices):
            part = found[device % len(found)]
            starts = (at(base, device) for base in bases)
            shard = expected[tuple(slice(start, start + size) for start, size in zip(starts, part.shape, strict=True))]
            if not bool((shard == part[tuple(map(slice, shard.shape))]).all()):
                return False
        return True

    def _of_value(self, walk: Walk, value: SSAValue) -> Elements:
        """Return the elements of a value: those of its term if the global program has it, otherwise from its op.

        Raises: NotProvedError if they cannot be followed.
        """
        table, relation = self.elements, walk.environment.get(value, Unknown(()))
        is_window = isinstance(relation, View) and relation.partial is None and relation.term in table.terms
        if is_window or not isinstance(relation, View | Candidates | Positions | Segments):
            return table.lifted(relation)
        kept = self._kept.get(value)
        if kept is None or kept[0] is not relation:
            kept = self._kept[value] = relation, self._from_op(walk, value, relation)
        if kept[1] is None:
            raise NotProvedError("elements that cannot be followed")
        return kept[1]

    def _from_op(self, walk: Walk, value: SSAValue, relation: Relation) -> Elements | None:
        self._depth += 1
        try:
            inner = walk.same_value(value)
            if inner is not value:
                return self._of_value(walk, inner)
            if not isinstance(value, OpResult) or self._depth > MOST_STEPS:
                raise NotProvedError("the elements of an argument, or after many ops without a value of the program")
            operands = [self._of_value(walk, each) for each in inputs_of(value.op)]
            return evaluated(self.elements, walk, value.op, operands)[value.index]
        except NotProvedError:
            try:
                return self.elements.lifted(relation)
            except NotProvedError:
                return None
        finally:
            self._depth -= 1


def _count_elements(module: ModuleOp) -> int:
    return sum(prod(shape_of(result)) for op in pre_order(module) for result in op.results)


def evaluated(table: ElementTable, walk: Walk, op: Operation, operands: Sequence[Elements]) -> list[Elements]:
    """Return the elements of the results of an op.

    Raises: NotProvedError if its elements are not followed, or values are large.
    """
    codes = [each.codes for each in operands]
    check_size(max(map(len, codes), default=1) * sum(prod(shape_of(each)) for each in op.results))
    degree = _degree(op, [each.degree for each in operands])
    if degree > MOST_FACTORS:
        raise NotProvedError("a product of too many factors to follow its elements")
    if op.name in EXCHANGES:
        everywhere = [np.broadcast_to(each, (walk.devices, *each.shape[1:])) for each in codes]
        results = [EXCHANGES[op.name](table, walk, op, each) for each in everywhere]
    elif op.name in MOVES:
        results = [MOVES[op.name](table, op, codes)]
    elif op.name in ELEMENTWISE:
        results = [pointwise(table, op, operands)]
    elif op.name in STRUCTURED:
        results = STRUCTURED[op.name](table, walk, op, codes)
    else:
        raise NotProvedError("an op whose elements are not followed")
    if [each.shape[1:] for each in results] != list(map(shape_of, op.results)):
        raise NotProvedError("the results have other shapes than the op")
    elements = list(map(element_of, op.results))
    wrapped = (_wrapped(table, *each) for each in zip(elements, results, strict=True))
    return [Elements(element, each, degree) for element, each in zip(elements, wrapped, strict=True)]


def _degree(op: Operation, operands: Sequence[int]) -> int:
    """Return the degree of the polynomials that an op computes from those of its operands."""
    if op.name in MULTIPLYING:
        return sum([1, *operands])
    degree = max([1, *operands])
    if any(inner.name == "stablehlo.multiply" for inner in pre_order(op)):
        reduced = prod(shape_of(op.operands[0])[dim] for dim in ints(op, "dimensions"))
        return degree * (prod(ints(op, "window_dimensions")) * reduced + 1)  # with the initial value
    return degree


def _wrapped(table: ElementTable, element: str, codes: Codes) -> Codes:
    """Return codes of integers of a type; those that are known to lie outside of its limits wrap around."""
    if not is_integer(element):
        return codes
    numbers, are_known = as_integers(codes)
    low, high = limits_of(element)
    are_over = are_known & ((numbers < low) | (numbers > high))
    if not are_over.any():
        return codes
    found = codes.copy()
    for number in np.unique(numbers[are_over]):
        if element in DTYPES:
            code = table.constant(element, number.astype(DTYPES[element]).tobytes())
        else:
            code = table.variable("wrapped", element, int(number))
        found[are_over & (numbers == number)] = code
    return found


ELEMENTWISE = frozenset(each.name for each in elementwise.OPS)
STRUCTURED: dict[str, Callable[[ElementTable, Walk, Operation, Sequence[Codes]], list[Codes]]] = {
    "stablehlo.dot": dot,
    "stablehlo.dot_general": dot,
    "stablehlo.convolution": convolution,
    "stablehlo.reduce": reduce,
    "stablehlo.reduce_window": reduce_windows,
    "stablehlo.scatter": scatter,
    "stablehlo.dynamic_update_slice": update_slice,
    **dict.fromkeys(BRANCHES, branch),
    **dict.fromkeys(BY_ROWS, of_rows),
}
MULTIPLYING = frozenset(
    f"stablehlo.{each}"
    for each in (
        *("multiply", "divide", "select", "and", "dot", "dot_general", "convolution"),
        *("gather", "dynamic_slice", "scatter", "dynamic_update_slice", "case", "if"),
    )
)


def learn(table: ElementTable, walk: Walk, step: Step) -> None:
    """Note the codes of the terms that an op of the global program computes."""
    try:
        found: Sequence[Elements | None] = evaluated(table, walk, step.op, list(map(table.lifted, step.inputs)))
    except NotProvedError:
        found = [None] * len(step.results)
    for relation, each in zip(step.results, found, strict=True):
        if not isinstance(relation, View) or relation.term in table.terms:
            continue
        if relation.partial is not None or relation.term.is_varying:
            continue
        codes = None if each is None else _arranged(each.codes, relation)
        try:
            table.of_term(relation.term)
        except NotProvedError:
            continue  # a large value
        if codes is not None and each is not None:
            table.terms[relation.term], table.degrees[relation.term] = codes, each.degree


def learn_part(table: ElementTable, window: View, part: Elements, devices: int) -> None:
    """Note the codes of a value of which devices have parts, given its window on each device."""
    codes = _arranged(np.broadcast_to(part.codes, (devices, *part.shape)), window)
    if codes is not None and window.term not in table.terms:
        table.terms[window.term], table.degrees[window.term] = codes, part.degree


def _arranged(codes: Codes, relation: View) -> Codes | None:
    """Return the codes of a term, given those of the windows of it that devices have; None if they lack elements."""
    if not is_plain(relation) or not is_within(relation) or not all(codes.shape):
        return None
    local = {dim_of(digits): dim + 1 for dim, digits in enumerate(relation.dims)}
    order = [local[dim] for dim in range(len(relation.base))]
    repeated = [dim for dim in range(1, codes.ndim) if dim not in order]
    windows = codes.transpose((*repeated, 0, *order))[(0,) * len(repeated)]
    found, is_missing = np.empty(relation.term.shape, np.int64), np.ones(relation.term.shape, np.bool_)
    for device, window in enumerate(windows):
        starts = (at(base, device) for base in relation.base)
        region = tuple(slice(start, start + size) for start, size in zip(starts, window.shape, strict=True))
        found[region], is_missing[region] = window, False
    return None if is_missing.any() else found
