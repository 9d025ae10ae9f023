"""Batch dims that a gather or scatter expresses by indices: a component of them is the position along a dim.

`x[i, k[i]]` for all `i` in order is the same with `i` as a batching dim and the indices `k` alone. Programs may say it
either way, so the lemmas of gathers and scatters read the first one as the second one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from xdsl.ir import SSAValue

from sdy.dialects.stablehlo.attributes.attrs import GatherDimensionNumbers, ScatterDimensionNumbers
from sdy.dialects.stablehlo.slicing import ConcatenateOp
from sdy.evidence.proof.factors import number
from sdy.evidence.proof.offsets import Offset, offset, spread
from sdy.evidence.proof.relations import FREE, Known, Relation, View, dim_of
from sdy.evidence.proof.structured import concatenated
from sdy.evidence.proof.views import slice_along
from sdy.evidence.proof.walk import Walk, known_or_view, shape_of

Numbers = GatherDimensionNumbers | ScatterDimensionNumbers


class Indexed(NamedTuple):
    """The value that a gather or scatter indexes, the indices, and the numbers that name their dims."""

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
