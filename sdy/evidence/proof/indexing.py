"""Lemmas of gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from xdsl.ir import Operation, SSAValue

from sdy.dialects.stablehlo.attributes.attrs import GatherDimensionNumbers, ScatterDimensionNumbers
from sdy.dialects.stablehlo.gather_scatter import GatherOp, ScatterOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp
from sdy.evidence.proof.compute import Placement
from sdy.evidence.proof.factors import Factors, gather, ints, number, scatter, slice_factors
from sdy.evidence.proof.known import ints_of, known_slice, moved
from sdy.evidence.proof.masks import Shard, sharded_index, unshifted
from sdy.evidence.proof.offsets import Offset, clamped, offset, spread
from sdy.evidence.proof.relations import FREE, Known, Relation, View, dim_of
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.structured import as_contribution, compute, concatenated, known_operands, to_view
from sdy.evidence.proof.views import slice_along
from sdy.evidence.proof.walk import Walk, known_or_view, shape_of

Numbers = GatherDimensionNumbers | ScatterDimensionNumbers
ZERO = Known("i64", (), None, np.zeros((1, 1), np.int64))


def gather_elements(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: slices that are whole along a dim, and batches of indices, are gathered on their shards."""
    assert isinstance(op, GatherOp)
    value, starts = known_operands(operands)
    given = _Indexed(value, starts, op.dimension_numbers.data)
    found = _with_batching(walk, given, op.start_indices, may_window=True)
    operand, indices = (cleaned(to_view(walk, each), walk.table) for each in (found.value, found.indices))
    numbers = cast("GatherDimensionNumbers", found.numbers)
    factors = gather(op, numbers)
    if len(numbers.start_index_map) == 1:
        shard = sharded_index(operand, numbers.start_index_map, indices)
        local = None if shard is None else _from_shard(op, operand, numbers)
        if shard is not None and local is not None:
            return compute(walk, op, local, [operand, shard[1]], "local_gather")
    return compute(walk, op, factors, [operand, indices])


def _from_shard(op: GatherOp, operand: View, numbers: GatherDimensionNumbers) -> Factors | None:
    """Return the factors of a gather of single elements from the windows of its only indexed dim; None for slices."""
    factors, (dim,) = gather(op, numbers), numbers.start_index_map
    term_dim, factor = dim_of(operand.dims[dim]), factors.operands[0][dim]
    if term_dim < 0 or ints(op, "slice_sizes")[dim] != 1 or factor in factors.results[0]:
        return None
    extent, size = operand.dims[dim][0].size, operand.term.shape[term_dim]
    attributes = Shard(operand.base[term_dim], extent, size, factors.attributes)
    return replace(factors, parallel=factors.parallel | {factor}, attributes=attributes)


def scatter_elements(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: updates that are whole along a dim are scattered on its shards; those outside of a shard are left out."""
    assert isinstance(op, ScatterOp)
    body, kind = walk.fingerprint(op.regions[0])
    count, known = len(op.inputs), known_operands(operands)
    if kind == "add" and count == 1:
        known[0] = as_contribution(walk, known[0])
    found = _with_batching(
        walk, _Indexed(known[0], known[count], op.scatter_dimension_numbers.data), op.scatter_indices
    )
    numbers = cast("ScatterDimensionNumbers", found.numbers)
    known[count] = found.indices
    views = [cleaned(to_view(walk, each), walk.table) for each in known]
    factors = scatter(op, numbers, kind, body)
    dims = numbers.scatter_dims_to_operand_dims
    shards: tuple[tuple[int, Placement], ...] = ()
    shifted = unshifted(views[1]) if count == 1 and len(dims) == 1 and dims[0] in numbers.inserted_window_dims else None
    if shifted is not None and not isinstance(shifted[1], int):
        term_dim, base = dim_of(views[0].dims[dims[0]]), shifted[1]
        extent = shape_of(op.inputs[0])[dims[0]]
        if term_dim == FREE:
            shards = ((dims[0], Placement(max(base) + extent, base, extent)),)
        if term_dim == FREE or views[0].base[term_dim] == base:
            views[1] = shifted[0]
            factors = replace(factors, parallel=factors.parallel | {dims[0]})
    return compute(walk, op, factors, views, shards=shards)


def slice_by_index(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation]:
    """Lemma: a slice whose start is known on each device is a window; other starts are those of the global slice."""
    value, *starts = known_operands(operands)
    return sliced_at(walk, op, value, starts)


def sliced_at(walk: Walk, op: Operation, value: View | Known, starts: Sequence[View | Known]) -> list[Relation]:
    """Return the relation of a slice of the shape of the result of `op`, with a start for each dim."""
    shape = shape_of(op.results[0])
    tables = [ints_of(each, walk.devices) if isinstance(each, Known) else None for each in starts]
    for dim, (size, table) in enumerate(zip(shape, tables, strict=True)):
        last = value.shape[dim] - size
        if last and table is not None:
            value = slice_along(value, dim, clamped(table, last), size)
    if value.shape == shape:
        return [value]
    factors, sliced = slice_factors(value.shape, shape)
    return compute(walk, op, factors, [value, *(starts[dim] for dim in sliced)], "stablehlo.dynamic_slice")


def gather_one_slice(walk: Walk, op: Operation, operands: list[Relation]) -> list[Relation] | None:
    """Lemma: a gather of one slice is a dynamic slice. None if the op gathers several.

    From a sharded dim, a device takes the slice that lies at the start relative to its shard, for a mask to choose.
    """
    assert isinstance(op, GatherOp)
    numbers, shape = op.dimension_numbers.data, shape_of(op.operand)
    has_one = not numbers.index_vector_dim and len(shape_of(op.start_indices)) == 1
    if not has_one or numbers.offset_dims != tuple(range(len(shape))):
        return None
    value, starts = known_operands(operands)
    indexed = numbers.start_index_map
    of_dims: list[View | Known] = [ZERO] * len(shape)  # the start along a dim without one is 0
    if isinstance(starts, Known):
        for number, dim in enumerate(indexed):
            of_dims[dim] = moved(known_slice(starts, 0, number, 1), (), None)
        return sliced_at(walk, op, value, of_dims)
    if len(indexed) != 1 or starts.base:
        return None
    operand = cleaned(value, walk.table) if isinstance(value, View) else value
    found = sharded_index(operand, indexed, starts) if isinstance(operand, View) else None
    if found is None or isinstance(operand, Known):
        of_dims[indexed[0]] = replace(starts, dims=())
        return sliced_at(walk, op, value, of_dims)
    dim, start = found[0], replace(found[1], dims=())
    term_dim = operand.dims[dim][0].dim
    factors, sliced = slice_factors(operand.shape, shape_of(op.results[0]))
    if sliced != [dim]:
        return None
    extent, size = operand.dims[dim][0].size, operand.term.shape[term_dim]
    own = Shard(operand.base[term_dim], extent, size, factors.attributes, "stablehlo.dynamic_slice")
    local = replace(factors, parallel=factors.parallel | {dim}, attributes=own)
    return compute(walk, op, local, [operand, start], "local_gather")


class _Indexed(NamedTuple):
    """The value that a gather or scatter indexes, the indices, and the numbers that name their dims.

    `x[i, k[i]]` for all `i` in order is the same with `i` as a batching dim and the indices `k` alone. Programs may say
    it either way, so the lemmas of gathers and scatters read the first one as the second one.
    """

    value: View | Known
    indices: View | Known
    numbers: Numbers


class _Positions(NamedTuple):
    """Consecutive integers along a dim of the indices."""

    start: Offset
    dim: int
    size: int


class _Dims(NamedTuple):
    """The numbers that gathers and scatters have both, in their order."""

    dropped: tuple[int, ...]
    batching: tuple[int, ...]
    indices_batching: tuple[int, ...]
    index_map: tuple[int, ...]


def _with_batching(walk: Walk, indexed: _Indexed, indices: SSAValue, *, may_window: bool = False) -> _Indexed:
    """Return the same with explicit batching dims, if `indices` are concatenated from components that are positions.

    With `may_window`, positions may be those of a window of the value: then the window is indexed.
    """
    op, axis = indices.owner, indexed.numbers.index_vector_dim
    if not isinstance(op, ConcatenateOp) or number(op, "dimension") != axis:
        return indexed
    if any(shape_of(each)[axis] != 1 for each in op.inputs):
        return indexed
    value, dims = indexed.value, _Dims(*indexed.numbers[1:5])
    rest = dict(enumerate(walk.environment[each] for each in op.inputs))  # by number, as some may be the same
    for component, dim in enumerate(dims.index_map):
        found = _positions(rest[component], axis)
        if found is None or len(rest) == 1 or dim not in dims.dropped or found.dim in dims.indices_batching:
            continue
        others = {number: each for number, each in rest.items() if number != component}
        window = _window(walk, value, dim, found, list(others.values()), may_window=may_window)
        if window is not None:
            value, dims, rest = window, _with_pair(dims, dim, found.dim), others
    if len(rest) == len(op.inputs):
        return indexed
    left = [known_or_view(each) for each in rest.values()]
    joined = left[0] if len(left) == 1 else concatenated(walk, op, left, (1,) * len(left))
    changed = dict(zip(indexed.numbers._fields[1:5], dims, strict=True))
    return _Indexed(value, joined, indexed.numbers._replace(**changed))


def _positions(component: Relation, axis: int) -> _Positions | None:
    """Return the positions that a component of the indices has along another dim than `axis`; None if it has others."""
    if not isinstance(component, Known) or component.dim in (None, axis):
        return None
    rows = component.rows.astype(np.int64)
    size = rows.shape[1]
    if not bool((np.diff(rows) == 1).all()):
        return None
    return _Positions(offset(tuple(int(each) for each in rows[:, 0])), component.dim, size)


def _window(
    walk: Walk, value: View | Known, dim: int, found: _Positions, others: Sequence[Relation], *, may_window: bool
) -> View | Known | None:
    """Return the window of the value that has the positions along a dim; None if they are not those of its window.

    A part of the dim counts only if the positions of all devices are those of all elements along the dim of the term.
    """
    size = value.shape[dim]
    if (found.start, found.size) == (0, size):
        return value
    if walk.table.is_recording or not may_window or not all(0 <= s <= size - found.size for s in spread(found.start)):
        return None
    extents = {_extent(each, found.dim) for each in others} - {FREE}
    return slice_along(value, dim, found.start, found.size) if extents == {_extent(value, dim)} else None


def _extent(relation: Relation, dim: int) -> int:
    """Return the size of the dim of the term that a dim of a value is a window of; FREE if it is of none."""
    digits = relation.dims[dim] if isinstance(relation, View) else ()
    return relation.term.shape[dim_of(digits)] if isinstance(relation, View) and dim_of(digits) != FREE else FREE


def _with_pair(dims: _Dims, dim: int, index_dim: int) -> _Dims:
    """Return the numbers with another pair of batching dims, which has no component."""
    pairs = sorted([*zip(dims.batching, dims.indices_batching, strict=True), (dim, index_dim)])
    dropped, index_map = (tuple(each for each in old if each != dim) for old in (dims.dropped, dims.index_map))
    return _Dims(dropped, tuple(one for one, _ in pairs), tuple(other for _, other in pairs), index_map)
