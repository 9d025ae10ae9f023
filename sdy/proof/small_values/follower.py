"""The lemma of small values: ops that move data move elements, other ops on elements give new ones.

It is tried where no other lemma holds, in programs of small values. See `codes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.dialects.ir.walk import pre_order
from sdy.proof.factors import attributes_of
from sdy.proof.relations import Elements, NotProvedError, Relation, Unknown, View
from sdy.proof.small_values.codes import ARBITRARY, ELEMENTWISE, Codes, ElementTable, check_size
from sdy.proof.small_values.exchanges import EXCHANGES
from sdy.proof.small_values.integers import are_integers, integers
from sdy.proof.small_values.moves import INDEXED, MOVES, updated_at_known
from sdy.proof.small_values.updates import UPDATES, key_of_update, updated
from sdy.proof.terms import Term
from sdy.proof.walk import PARTIALLY_KNOWN, Walk, element_of, shape_of

MOST_ELEMENTS = 2**22  # of all values of a program
MOST_READINGS = 64  # of the operands of an op as windows


@dataclass(slots=True)
class Follower:
    """Follows elements, of a walk over the global program and of a later one over the local program."""

    global_walk: Walk
    module: ModuleOp
    _elements: ElementTable | None = None
    _is_small: bool | None = None

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
            learn(self._elements, self.global_walk, pre_order(self.module))
        return self._elements

    def lemma(self, walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
        """Lemma: equal elements, by ops that move data or compute on elements, are equal values."""
        self.elements.origin = partial(_of_origin, self.elements, walk)
        return by_elements(self.elements, walk, op, operands)

    def are_equal(self, relation: Relation, goal: View) -> bool:
        """Return whether a value has the elements of a window, as far as this lies within its term."""
        try:
            found, expected = (self.elements.lifted(each).codes for each in (relation, goal))
        except NotProvedError:
            return False
        return found.shape[1:] == expected.shape[1:] and bool(((found == expected) | (expected == ARBITRARY)).all())


def _count_elements(module: ModuleOp) -> int:
    return sum(prod(shape_of(result)) for op in pre_order(module) for result in op.results)


def by_elements(table: ElementTable, walk: Walk, op: Operation, operands: Sequence[Relation]) -> list[Relation]:
    """Return the relations of the results of an op on small values.

    Ops on elements give elements; for others, elements are read as windows. Raises: NotProvedError if neither helps.
    """
    try:
        found = evaluated(table, walk, op, operands)
    except NotProvedError:
        return _as_windows(table, walk, op, operands)
    return [next(table.readings(each, is_exact=True), each) for each in found]


def evaluated(table: ElementTable, walk: Walk, op: Operation, operands: Sequence[Relation]) -> list[Elements]:
    """Return the elements of the results of an op on elements. Raises: NotProvedError if it is none."""
    elements = [table.lifted(each) for each in operands]
    if op.name in EXCHANGES:
        shape = (walk.devices,)
        everywhere = [np.broadcast_to(each.codes, shape + each.shape) for each in elements]
        results = [EXCHANGES[op.name](table, walk, op, each) for each in everywhere]
    else:
        results = [_result(table, walk, op, elements)]
    if [each.shape[1:] for each in results] != list(map(shape_of, op.results)):
        raise NotProvedError("the results have other shapes than the op")
    return [Elements(element_of(result), each) for result, each in zip(op.results, results, strict=True)]


def _result(table: ElementTable, walk: Walk, op: Operation, operands: Sequence[Elements]) -> Codes:
    codes = [each.codes for each in operands]
    if op.name not in MOVES and op.name not in ELEMENTWISE and op.name not in UPDATES:
        raise NotProvedError("an op that neither moves elements nor computes on them")
    check_size(max(map(len, codes)) * prod(shape_of(op.results[0])))
    if op.name in ELEMENTWISE:
        return _pointwise(table, op, operands)
    if op.name in INDEXED:
        return MOVES[op.name](op, [codes[0], *(integers(table, each) for each in operands[1:])])
    if op.name in MOVES:
        return MOVES[op.name](op, codes)
    if op.name == "stablehlo.dynamic_update_slice" and all(are_integers(table, each) for each in operands[2:]):
        return updated_at_known([*codes[:2], *(integers(table, each) for each in operands[2:])])
    return updated(table, op, key_of_update(walk, op), codes)


def _as_windows(table: ElementTable, walk: Walk, op: Operation, operands: Sequence[Relation]) -> list[Relation]:
    """Return what a lemma finds for some reading of the operands, preferably of a term of the global program."""
    first: list[Relation] | None = None
    options = [list(_readings(table, each)) for each in operands]
    if op.name in PARTIALLY_KNOWN:
        options = [each or [Unknown(operand.shape)] for each, operand in zip(options, operands, strict=True)]
    for reading in islice(product(*options), MOST_READINGS):
        try:
            found = walk.lemmas[op.name](walk, op, list(reading))
        except NotProvedError:
            continue
        if all(isinstance(each, View) and walk.table.is_global(each.term) for each in found):
            return found
        first = first or found
    if first is None:
        raise NotProvedError("expected windows for which a lemma holds, got other elements")
    return first


def _readings(table: ElementTable, relation: Relation) -> Iterator[Relation]:
    if not isinstance(relation, Elements):
        yield relation
    if not isinstance(relation, Unknown):
        try:
            elements = table.lifted(relation)
            yield from table.readings(elements, is_exact=True)
            yield from table.readings(elements, is_exact=False)
        except NotProvedError:
            return


def _pointwise(table: ElementTable, op: Operation, operands: Sequence[Elements]) -> Codes:
    shape, count = shape_of(op.results[0]), max(len(each.codes) for each in operands)
    if any(len(each.shape) not in (0, len(shape)) for each in operands):
        raise NotProvedError("a conversion that changes the rank")
    if op.name == "stablehlo.convert" and element_of(op.operands[0]) == element_of(op.results[0]):
        return operands[0].codes
    rows = [each.codes.reshape((-1, *(each.shape or (1,) * len(shape)))) for each in operands]
    key = (op.name, attributes_of(op), element_of(op.results[0]))
    return table.computed(key, rows, (count, *shape))


def learn(table: ElementTable, walk: Walk, ops: Sequence[Operation]) -> None:
    """Note the codes of the terms of the global program, in its order, and its updates of slices."""
    for op in ops:
        relations = [walk.environment.get(each) for each in op.results]
        for relation in relations:
            if not isinstance(relation, View) or relation.term in table.terms or relation.partial is not None:
                continue
            try:
                codes = _codes_of_result(table, walk, op, relation)
                table.terms[relation.term] = table.of_term(relation.term) if codes is None else codes
            except NotProvedError:
                continue  # a large value
        if op.name in UPDATES and all(each in walk.environment for each in op.results):
            found = [walk.environment[each] for each in (*op.operands, *op.results)]
            try:
                table.updates.append((key_of_update(walk, op), [table.lifted(each).codes[0] for each in found]))
            except NotProvedError:
                continue  # of a large value


def _codes_of_result(table: ElementTable, walk: Walk, op: Operation, relation: View) -> Codes | None:
    """Return the codes of the term of a result that an op on elements computes; None for another op."""
    if op.name not in ELEMENTWISE and op.name not in MOVES:
        return None
    try:
        (found,) = evaluated(table, walk, op, [walk.environment[each] for each in op.operands])
    except NotProvedError:
        return None
    codes = _arranged(found.codes, relation)
    return None if codes is None else codes[0]


def _of_origin(table: ElementTable, walk: Walk, term: Term) -> Codes:
    """Return the codes of a term that depends on the device, from the op that computed it."""
    if term not in walk.origins:
        raise NotProvedError("the elements of a value that depends on the device")
    op, operands, relation = walk.origins[term]
    (found,) = evaluated(table, walk, op, operands)
    codes = _arranged(found.codes, relation)
    if codes is None:
        raise NotProvedError("the elements of a part of a value that depends on the device")
    return codes


def _arranged(codes: Codes, relation: View) -> Codes | None:
    """Return the codes of a value in the order of the dims of its term; None unless the value is the whole term."""
    order: list[int] = []
    for dim, size in enumerate(relation.term.shape):
        local = [each for each, digits in enumerate(relation.dims) if digits == ((size, dim, 1),)]
        if len(local) != 1 or relation.base[dim] != 0:
            return None
        order += (each + 1 for each in local)
    rest = [dim for dim in range(1, codes.ndim) if dim not in order]
    moved = codes.transpose((*rest, 0, *order))
    return moved[(0,) * len(rest)] if all(codes.shape) else None
