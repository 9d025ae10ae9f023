"""The lemma of small values: ops that move data move elements, other ops on elements give new ones.

It is tried where no other lemma holds. See `elements`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.gather_scatter import GatherOp
from sdy.proof.collective_lemmas import groups_of, pairs_of
from sdy.proof.contributions import IDEMPOTENT, is_neutral
from sdy.proof.elements import ARBITRARY, ELEMENTWISE, Codes, ElementTable, check_size
from sdy.proof.factors import attributes_of, ints, number
from sdy.proof.known import DTYPES
from sdy.proof.relations import Elements, NotProvedError, Relation, Unknown, View
from sdy.proof.terms import Shape
from sdy.proof.updates import updated
from sdy.proof.walk import PARTIALLY_KNOWN, Walk, element_of, shape_of

Move = Callable[[Operation, Sequence[Codes]], Codes]
MOST_READINGS = 64  # of the operands of an op as windows


@dataclass(slots=True)
class Follower:
    """Follows elements, of a walk over the global program and of a later one over the local program."""

    global_walk: Walk
    module: ModuleOp
    _elements: ElementTable | None = None

    @property
    def elements(self) -> ElementTable:
        """The elements of the global program, which are found when they are first needed."""
        if self._elements is None:
            self._elements = ElementTable(self.global_walk.table, self.global_walk.devices)
            learn(self._elements, self.global_walk, pre_order(self.module))
        return self._elements

    def lemma(self, walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
        """Lemma: equal elements, by ops that move data or compute on elements, are equal values."""
        return by_elements(self.elements, walk, op, operands)

    def are_equal(self, relation: Relation, goal: View) -> bool:
        """Return whether a value has the elements of a window, as far as this lies within its term."""
        try:
            found, expected = (self.elements.lifted(each).codes for each in (relation, goal))
        except NotProvedError:
            return False
        return found.shape[1:] == expected.shape[1:] and bool(((found == expected) | (expected == ARBITRARY)).all())


def by_elements(table: ElementTable, walk: Walk, op: Operation, operands: Sequence[Relation]) -> list[Relation]:
    """Return the relations of the results of an op on small values.

    Ops on elements give elements; for others, elements are read as windows. Raises: NotProvedError if neither helps.
    """
    try:
        found = evaluated(table, walk, op, operands)
    except NotProvedError:
        return _as_windows(table, walk, op, operands)
    return [next(table.readings(each), each) for each in found]


def evaluated(table: ElementTable, walk: Walk, op: Operation, operands: Sequence[Relation]) -> list[Elements]:
    """Return the elements of the results of an op on elements. Raises: NotProvedError if it is none."""
    elements = [table.lifted(each) for each in operands]
    if op.name in EXCHANGES:
        shape = (walk.devices,)
        everywhere = [np.broadcast_to(each.codes, shape + each.shape) for each in elements]
        results = [EXCHANGES[op.name](table, walk, op, each) for each in everywhere]
    else:
        results = [_result(table, op, elements)]
    if [each.shape[1:] for each in results] != list(map(shape_of, op.results)):
        raise NotProvedError("the results have other shapes than the op")
    return [Elements(element_of(result), each) for result, each in zip(op.results, results, strict=True)]


def _result(table: ElementTable, op: Operation, operands: Sequence[Elements]) -> Codes:
    codes = [each.codes for each in operands]
    if op.name not in MOVES and op.name not in ELEMENTWISE and op.name != UPDATE:
        raise NotProvedError("an op that neither moves elements nor computes on them")
    check_size(max(map(len, codes)) * prod(shape_of(op.results[0])))
    if op.name in ELEMENTWISE:
        return _pointwise(table, op, operands)
    if op.name in INDEXED:
        return MOVES[op.name](op, [codes[0], *(table.integers(each) for each in operands[1:])])
    if op.name != UPDATE:
        return MOVES[op.name](op, codes)
    try:
        starts = [table.integers(each) for each in operands[2:]]
    except NotProvedError:
        return updated(table, op, codes)
    return _known_update([*codes[:2], *starts])


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
        raise NotProvedError("the elements are no windows for which a lemma holds")
    return first


def _readings(table: ElementTable, relation: Relation) -> Iterator[Relation]:
    if not isinstance(relation, Elements):
        yield relation
    if not isinstance(relation, Unknown):
        try:
            yield from table.readings(table.lifted(relation))
        except NotProvedError:
            return


def _pointwise(table: ElementTable, op: Operation, operands: Sequence[Elements]) -> Codes:
    shape, count = shape_of(op.results[0]), max(len(each.codes) for each in operands)
    if any(len(each.shape) not in (0, len(shape)) for each in operands):
        raise NotProvedError("a conversion that changes the rank")
    rows: list[Codes] = []
    for each in operands:
        codes = each.codes.reshape((len(each.codes), *(1,) * len(shape))) if each.codes.ndim == 1 else each.codes
        rows.append(np.broadcast_to(codes, (count, *shape)).reshape(-1))
    if op.name == "stablehlo.convert" and element_of(op.operands[0]) == element_of(op.results[0]):
        return rows[0].reshape((count, *shape))
    distinct, inverse = np.unique(np.stack(rows, 1), axis=0, return_inverse=True)
    key = (op.name, attributes_of(op), element_of(op.results[0]))
    found = [_on_elements(table, key, list(map(int, row))) for row in distinct]
    return np.array(found, np.int64)[inverse.reshape(-1)].reshape((count, *shape))


def _on_elements(table: ElementTable, key: tuple[object, ...], codes: list[int]) -> int:
    """Return the code of an op on elements; a select by a constant is one of them."""
    if key[0] == "stablehlo.select" and (mask := table.of_constant(codes[0])) is not None:
        return codes[1] if any(mask) else codes[2]
    return ARBITRARY if ARBITRARY in codes else table.code(*key, *codes)


def _slice(op: Operation, codes: Sequence[Codes]) -> Codes:
    bounds = zip(ints(op, "start_indices"), ints(op, "limit_indices"), ints(op, "strides"), strict=True)
    return codes[0][(slice(None), *(slice(*each) for each in bounds))]


def _pad(op: Operation, codes: Sequence[Codes]) -> Codes:
    value, filling = codes
    count = max(len(value), len(filling))
    shape = shape_of(op.results[0])
    low, interior = ints(op, "edge_padding_low"), ints(op, "interior_padding")
    found = np.broadcast_to(filling.reshape((-1, *(1,) * len(shape))), (count, *shape)).copy()
    source: list[slice] = [slice(None)]
    target: list[slice] = [slice(None)]
    for dim, (start, step) in enumerate(zip(low, (each + 1 for each in interior), strict=True)):
        first = max(0, -(start // step))  # elements that negative padding removes
        last = min(value.shape[dim + 1], -((start - shape[dim]) // step))
        source.append(slice(first, max(first, last)))
        target.append(slice(start + first * step, max(0, start + last * step - step + 1), step))
    found[tuple(target)] = value[tuple(source)]
    return found


def _concatenate(op: Operation, codes: Sequence[Codes]) -> Codes:
    count = max(map(len, codes))
    parts = [np.broadcast_to(each, (count, *each.shape[1:])) for each in codes]
    return np.concatenate(parts, number(op, "dimension") + 1)


def _broadcast(op: Operation, codes: Sequence[Codes]) -> Codes:
    shape, dims = shape_of(op.results[0]), ints(op, "broadcast_dimensions")
    order = sorted(range(len(dims)), key=lambda each: dims[each])
    value = codes[0].transpose((0, *(each + 1 for each in order)))
    sizes = {dims[each]: size for each, size in zip(order, value.shape[1:], strict=True)}
    value = value.reshape((len(value), *(sizes.get(dim, 1) for dim in range(len(shape)))))
    return np.broadcast_to(value, (len(value), *shape)).copy()


def _dynamic_slice(op: Operation, codes: Sequence[Codes]) -> Codes:
    value, *starts = codes
    count, shape = max(map(len, codes)), shape_of(op.results[0])
    rows: list[Codes] = []
    for device in range(count):
        one = value[device % len(value)]
        for dim, (start, size) in enumerate(zip(starts, shape, strict=True)):
            first = int(np.clip(start[device % len(start)], 0, value.shape[dim + 1] - size))
            one = one.take(range(first, first + size), dim)
        rows.append(one)
    return np.stack(rows)


def _known_update(codes: Sequence[Codes]) -> Codes:
    value, update, *starts = codes
    found = np.broadcast_to(value, (max(map(len, codes)), *value.shape[1:])).copy()
    for device, row in enumerate(found):
        window: list[slice] = []
        for start, size, part in zip(starts, value.shape[1:], update.shape[1:], strict=True):
            first = int(np.clip(start[device % len(start)], 0, size - part))
            window.append(slice(first, first + part))
        row[tuple(window)] = update[device % len(update)]
    return found


def _gather(op: Operation, codes: Sequence[Codes]) -> Codes:
    """Return the elements of slices that begin at known indices."""
    assert isinstance(op, GatherOp)
    numbers, sizes, shape = op.dimension_numbers.data, ints(op, "slice_sizes"), shape_of(op.result)
    value, indices = codes
    if numbers.index_vector_dim == indices.ndim - 1:
        indices = indices[..., None]
    starts = np.moveaxis(indices, numbers.index_vector_dim + 1, -1)
    batch = [dim for dim in range(len(shape)) if dim not in numbers.offset_dims]
    spread = [shape[dim] if dim in batch else 1 for dim in range(len(shape))]
    starts = starts.reshape((len(starts), *spread, starts.shape[-1]))
    batching = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
    offsets = iter(numbers.offset_dims)
    places: list[Codes] = []
    for dim, size in enumerate(value.shape[1:]):
        place = np.zeros(starts.shape[:-1], np.int64)
        if dim in numbers.start_index_map:
            place = np.clip(starts[..., numbers.start_index_map.index(dim)], 0, size - sizes[dim])
        if dim in batching:
            before = batching[dim] - (batching[dim] > numbers.index_vector_dim)
            place = place + _along(batch[before], shape)
        elif dim not in numbers.collapsed_slice_dims:
            place = place + _along(next(offsets), shape)
        places.append(place)
    count = max(len(value), len(starts))
    device = np.arange(count).reshape((-1, *(1,) * len(shape))) % len(value)
    return value[(device, *places)]


def _along(dim: int, shape: Shape) -> Codes:
    """Return the position along a dim of each element of a shape, behind a dim of devices."""
    return np.arange(shape[dim], dtype=np.int64).reshape((-1, *(1,) * (len(shape) - dim - 1)))


def _reverse(op: Operation, codes: Sequence[Codes]) -> Codes:
    return np.flip(codes[0], tuple(dim + 1 for dim in ints(op, "dimensions")))


MOVES: dict[str, Move] = {
    "stablehlo.slice": _slice,
    "stablehlo.pad": _pad,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.gather": _gather,
    "stablehlo.reshape": lambda op, codes: codes[0].reshape((-1, *shape_of(op.results[0]))),
    "stablehlo.transpose": lambda op, codes: codes[0].transpose((0, *(dim + 1 for dim in ints(op, "permutation")))),
    "stablehlo.reverse": _reverse,
}
INDEXED = frozenset({"stablehlo.dynamic_slice", "stablehlo.gather"})
UPDATE = "stablehlo.dynamic_update_slice"


def _all_gather(table: ElementTable, walk: Walk, op: Operation, codes: Codes) -> Codes:
    found: dict[int, Codes] = {}
    for group in groups_of(walk, op):
        joined = np.concatenate([codes[each] for each in group], number(op, "all_gather_dim"))
        found.update(dict.fromkeys(group, joined))
    return np.stack([found[device] for device in range(walk.devices)])


def _all_to_all(table: ElementTable, walk: Walk, op: Operation, codes: Codes) -> Codes:
    split, concat = number(op, "split_dimension"), number(op, "concat_dimension")
    found: dict[int, Codes] = {}
    for group in groups_of(walk, op):
        parts = [np.split(codes[each], len(group), split) for each in group]
        for position, device in enumerate(group):
            found[device] = np.concatenate([each[position] for each in parts], concat)
    return np.stack([found[device] for device in range(walk.devices)])


def _collective_permute(table: ElementTable, walk: Walk, op: Operation, codes: Codes) -> Codes:
    element = element_of(op.results[0])
    if element not in DTYPES:
        raise NotProvedError(f"the proof does not support zeros of type {element}")
    found = np.full_like(codes, table.constant(element, bytes(DTYPES[element](0).itemsize)))
    for source, target in pairs_of(op):
        found[target] = codes[source]
    return found


def _all_reduce(table: ElementTable, walk: Walk, op: Operation, codes: Codes) -> Codes:
    """Return the only element of each group that is not neutral, or the one of all devices."""
    _, kind = walk.fingerprint(op.regions[0])
    element = element_of(op.regions[0].block.args[0])
    neutral = [
        code
        for code in map(int, np.unique(codes))
        if (raw := table.of_constant(code)) is not None
        and is_neutral(walk.table.make("constant", raw, (), (), element), kind)
    ]
    found = codes.copy()
    for group in groups_of(walk, op):
        rows = codes[list(group)]
        others = np.sort(np.where(np.isin(rows, neutral), np.iinfo(np.int64).max, rows), 0)
        has_one = others[0] == others[-1] if kind in IDEMPOTENT else np.zeros(others.shape[1:], np.bool_)
        is_alone = has_one | (others[1:] == np.iinfo(np.int64).max).all(0)
        is_alone &= (others[0] != np.iinfo(np.int64).max) | (rows == rows[:1]).all(0)
        if not kind or (rows == ARBITRARY).any() or not is_alone.all():
            raise NotProvedError("devices combine different elements")
        found[list(group)] = np.where(others[0] == np.iinfo(np.int64).max, rows[0], others[0])
    return found


def _reduce_scatter(table: ElementTable, walk: Walk, op: Operation, codes: Codes) -> Codes:
    whole, dim = _all_reduce(table, walk, op, codes), number(op, "scatter_dimension")
    found: dict[int, Codes] = {}
    for group in groups_of(walk, op):
        found.update(zip(group, np.split(whole[group[0]], len(group), dim), strict=True))
    return np.stack([found[device] for device in range(walk.devices)])


EXCHANGES: dict[str, Callable[[ElementTable, Walk, Operation, Codes], Codes]] = {
    "stablehlo.all_gather": _all_gather,
    "stablehlo.all_to_all": _all_to_all,
    "stablehlo.collective_permute": _collective_permute,
    "stablehlo.all_reduce": _all_reduce,
    "stablehlo.reduce_scatter": _reduce_scatter,
}


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
        if op.name == UPDATE:
            found = [walk.environment.get(each) for each in (*op.operands, *op.results)]
            table.note_update([each for each in found if each is not None])


def _codes_of_result(table: ElementTable, walk: Walk, op: Operation, relation: View) -> Codes | None:
    """Return the codes of the term of a result that an op on elements computes; None for another op."""
    if op.name not in ELEMENTWISE and op.name not in MOVES:
        return None
    try:
        (found,) = evaluated(table, walk, op, [walk.environment[each] for each in op.operands])
    except NotProvedError:
        return None
    return _arranged(found.codes[0], relation)


def _arranged(codes: Codes, relation: View) -> Codes | None:
    """Return the codes of a value in the order of the dims of its term; None unless the value is the whole term."""
    shape: Shape = relation.term.shape
    order: list[int] = []
    for dim, size in enumerate(shape):
        local = [each for each, digits in enumerate(relation.dims) if digits == ((size, dim, 1),)]
        if len(local) != 1 or relation.base[dim] != 0:
            return None
        order += local
    rest = [dim for dim in range(codes.ndim) if dim not in order]
    moved = codes.transpose((*rest, *order))
    return moved[(0,) * len(rest)] if all(codes.shape) else None
