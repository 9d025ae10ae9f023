"""Lemmas of gathers and scatters at indices that are known on each device, as those of a diagonal.

A device takes the indices minus the start of its shard. Of what it gathers, a mask keeps the elements that lie in the
shard; a scatter leaves out the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from xdsl.ir import SSAValue

from sdy.dialects.stablehlo.attributes.attrs import GatherDimensionNumbers, ScatterDimensionNumbers
from sdy.dialects.stablehlo.gather_scatter import GatherOp
from sdy.dialects.stablehlo.slicing import ConcatenateOp
from sdy.evidence.proof.contributions import contributions, is_zero
from sdy.evidence.proof.factors import Factors, gather, ints, number
from sdy.evidence.proof.known import DTYPES, windows_of_global
from sdy.evidence.proof.masks import Shard
from sdy.evidence.proof.offsets import Offset, at, offset, spread
from sdy.evidence.proof.relations import FREE, Known, NotProvedError, Relation, View, dim_of
from sdy.evidence.proof.reshapes import cleaned
from sdy.evidence.proof.structured import compute, concatenated, to_view
from sdy.evidence.proof.terms import Arguments, Term, TermTable
from sdy.evidence.proof.views import slice_along
from sdy.evidence.proof.walk import Walk, known_or_view, shape_of

Numbers = GatherDimensionNumbers | ScatterDimensionNumbers


def gathered_at_known(walk: Walk, op: GatherOp, indexed: Indexed) -> list[Relation] | None:
    """Return a gather from a sharded dim, to be masked, if the program gathers at the same indices from all of the dim.

    None if the indices are not those of a gather of the program.
    """
    numbers, indices = cast("GatherDimensionNumbers", indexed.numbers), indexed.indices
    if walk.table.is_recording or len(numbers.start_index_map) != 1 or not isinstance(indices, Known):
        return None
    operand = cleaned(to_view(walk, indexed.value), walk.table)
    local = from_shard(op, operand, numbers)
    if local is None or indices.dim is None:
        return None
    shard = cast("Shard", local.attributes)
    whole = with_shift(indices, shard.base, walk.devices)
    rows = whole.rows.astype(np.int64)
    if shard.extent == shard.size or not bool(((rows >= 0) & (rows < shard.size)).all()):
        return None
    for view in windows_of_global(whole, walk.table):
        try:
            (found,) = compute(walk, op, local, [operand, view], "local_gather")
        except NotProvedError:
            continue
        if isinstance(found, View) and walk.table.is_global(_of_all(found.term, walk.table)):
            return [found]
    return None


def from_shard(op: GatherOp, operand: View, numbers: GatherDimensionNumbers) -> Factors | None:
    """Return the factors of a gather of single elements from the windows of its only indexed dim; None for slices."""
    factors, (dim,) = gather(op, numbers), numbers.start_index_map
    term_dim, factor = dim_of(operand.dims[dim]), factors.operands[0][dim]
    if term_dim < 0 or ints(op, "slice_sizes")[dim] != 1 or factor in factors.results[0]:
        return None
    extent, size = operand.dims[dim][0].size, operand.term.shape[term_dim]
    attributes = Shard(operand.base[term_dim], extent, size, factors.attributes)
    return replace(factors, parallel=factors.parallel | {factor}, attributes=attributes)


def with_shift(indices: Known, starts: Offset, devices: int) -> Known:
    """Return known indices plus an offset per device. Raises: NotProvedError if the sums exceed their type."""
    shift = np.array([[at(starts, device)] for device in range(devices)])
    rows = indices.rows.astype(np.int64)[np.arange(devices) % len(indices.rows)] + shift
    shifted = rows.astype(DTYPES[indices.element])
    if bool((shifted != rows).any()):
        raise NotProvedError("indices that exceed their type with the start of a shard")
    return Known(indices.element, indices.shape, indices.dim, shifted)


def _of_all(term: Term, table: TermTable) -> Term:
    """Return the gather from the full dim of which a term is the gather on shards."""
    attributes = cast("Arguments", term.attributes)
    shard = cast("Shard", attributes.own)
    return table.make(shard.op, attributes._replace(own=shard.own), term.operands, term.shape, term.element)


def kept_by_known_mask(
    mask: Known, found: View | Known, other: View | Known, devices: int, table: TermTable
) -> View | None:
    """Return the contributions of devices, each of which keeps the elements of a gather that lie in its shard."""
    if isinstance(found, Known) or isinstance(other, Known):
        return None
    if found.term.op != "local_gather" or found.partial is not None or other.base or not is_zero(other.term):
        return None
    attributes, indices = cast("Arguments", found.term.attributes), found.term.operands[1]
    if indices.op != "constant" or len(attributes.factors[1]) != 1:
        return None
    shard, ((_, dim, _),) = cast("Shard", attributes.own), attributes.factors[1]
    known = np.frombuffer(cast("bytes", indices.attributes), DTYPES[indices.element]).astype(np.int64)
    windows, count = found.base[dim_of(found.dims[dim])], mask.shape[dim]
    if mask.dim not in (None, dim):
        return None
    for device in range(devices):
        start, first = at(shard.base, device), at(windows, device)
        positions = known[first : first + count]
        is_own = (positions >= start) & (positions < start + shard.extent)
        if first < 0 or len(positions) < count or bool((mask.rows[device % len(mask.rows)] != is_own).any()):
            return None
    partial = contributions("add", shard.base, shard.extent, shard.size, devices, may_reach_over=False)
    return View(_of_all(found.term, table), found.base, found.dims, None, partial)


class Indexed(NamedTuple):
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


def with_batching(walk: Walk, indexed: Indexed, indices: SSAValue, *, may_window: bool = False) -> Indexed:
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
    return Indexed(value, joined, indexed.numbers._replace(**changed))


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
