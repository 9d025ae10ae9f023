"""Updates of slices and scatters at starts that are values: of small values, by trying all starts.

A shard may have margins around it, so that an update that lies in another shard changes elements of them only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from sdy.dialects.stablehlo.gather_scatter import ScatterOp
from sdy.proof.relations import NotProvedError
from sdy.proof.small_values.codes import ARBITRARY, MOST_PLACES, Codes, ElementTable
from sdy.proof.small_values.integers import at_value, integer, shift_from
from sdy.proof.walk import Walk

Base = tuple[int, ...]  # of a shard in the global value; negative for a margin
Mask = npt.NDArray[np.bool_]
Check = Callable[[ElementTable, Operation, Sequence[Codes], Sequence[Codes], Base, Mask], bool]


def key_of_update(walk: Walk, op: Operation) -> Hashable:
    """Return what determines an update besides its operands."""
    if isinstance(op, ScatterOp):
        return op.name, str(op.scatter_dimension_numbers), walk.fingerprint(op.regions[0])[0]
    return op.name


def updated(table: ElementTable, op: Operation, key: Hashable, operands: Sequence[Codes]) -> Codes:
    """Return the codes of an update on shards, of an update of the global program.

    Elements that are not those of the global value, such as in margins, are arbitrary afterwards. Raises:
    NotProvedError if it is none of the global updates.
    """
    count = max(map(len, operands))
    rows = [[each[device % len(each)] for each in operands] for device in range(count)]
    for other, update in table.updates:
        if key == other and [each.ndim for each in update[:-1]] == [each.ndim for each in rows[0]]:
            found = [_updated_shard(table, op, update, row) for row in rows]
            if all(each is not None for each in found):
                return np.stack([each for each in found if each is not None])
    raise NotProvedError("an update of a shard that is none of the program")


def _updated_shard(table: ElementTable, op: Operation, update: Sequence[Codes], row: Sequence[Codes]) -> Codes | None:
    """Return the codes of one device after an update, given that of the global program and its own operands."""
    whole, result, shard = update[0], update[-1], row[0]
    center = tuple(size // 2 for size in shard.shape)
    for place in np.argwhere(whole == shard[center])[:MOST_PLACES]:
        base = place - center
        low, high = np.maximum(base, 0), np.minimum(base + shard.shape, whole.shape)
        inner, window = tuple(map(slice, low - base, high - base)), tuple(map(slice, low, high))
        is_own: Mask = np.zeros(shard.shape, np.bool_)
        is_own[inner] = shard[inner] == whole[window]
        if UPDATES[op.name](table, op, update, row, tuple(base.tolist()), is_own):
            found = np.full(shard.shape, ARBITRARY, np.int64)
            found[inner] = np.where(is_own[inner], result[window], ARBITRARY)
            return found
    return None


def _positions(is_own: Mask, dim: int) -> Codes:
    return np.flatnonzero(is_own.any(tuple(each for each in range(is_own.ndim) if each != dim)))


def _has_part(part: Codes, own: Codes, cut: Sequence[slice]) -> bool:
    """Return whether a device has its part of an update."""
    found = part[tuple(cut)]
    is_inside = all(each.start is None or each.start >= 0 for each in cut)
    return is_inside and found.shape == own.shape and bool((found == own).all())


def _is_updated_alike(
    table: ElementTable, op: Operation, update: Sequence[Codes], row: Sequence[Codes], base: Base, is_own: Mask
) -> bool:
    """Return whether the elements of a shard that are its own are updated as in the global program."""
    (whole, part, *starts, _), (shard, own, *own_starts) = update, row
    cut = [slice(None)] * shard.ndim
    for dim in range(shard.ndim):
        size, extent = part.shape[dim], own.shape[dim]
        if size == whole.shape[dim]:  # all elements are updated, of which each device has its own
            if extent != shard.shape[dim]:
                return False
            cut[dim] = slice(base[dim], base[dim] + extent)
            continue
        start, own_start = int(starts[dim]), int(own_starts[dim])
        last, own_last = whole.shape[dim] - size, shard.shape[dim] - extent
        known = integer(table, start)
        for value in range(last + 1) if known is None else [min(max(known, 0), last)]:
            is_same = own_start == start and own_last == last
            found = value if is_same else at_value(table, own_start, start, value, last)
            if found is None or size != extent:
                return False
            first = min(max(found, 0), own_last)
            if not _is_moved_alike(_positions(is_own, dim), base[dim] - value, -first, size):
                return False
    return _has_part(part, own, cut)


def _is_moved_alike(positions: Codes, shift: int, own_shift: int, size: int) -> bool:
    """Return whether the same elements of an update, of `size` elements, come to the positions by both shifts."""
    steps, own_steps = positions + shift, positions + own_shift
    is_new, is_own_new = (steps >= 0) & (steps < size), (own_steps >= 0) & (own_steps < size)
    return bool((is_new == is_own_new).all()) and not bool((steps != own_steps)[is_new].any())


def _is_scattered_alike(
    table: ElementTable, op: Operation, update: Sequence[Codes], row: Sequence[Codes], base: Base, is_own: Mask
) -> bool:
    """Return whether the elements of a shard that are its own are scattered to as in the global program."""
    assert isinstance(op, ScatterOp)
    (whole, indices, part, _), (shard, own_indices, own) = update, row
    numbers = op.scatter_dimension_numbers.data
    starts, own_starts = (_columns(each, numbers.index_vector_dim) for each in (indices, own_indices))
    shards = [slice(start, start + size) for start, size in zip(base, shard.shape, strict=True)]
    # Each device has its part along batching dims, and along dims that updates cover.
    cut, part_cut = [slice(None)] * (starts.ndim - 1), [slice(None)] * part.ndim
    for dim, index_dim in zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True):
        cut[index_dim - (index_dim > numbers.index_vector_dim)] = shards[dim]
    for each, along in zip((d for d in range(part.ndim) if d not in numbers.update_window_dims), cut, strict=True):
        part_cut[each] = along
    removed = (*numbers.inserted_window_dims, *numbers.input_batching_dims)
    windows = (dim for dim in range(shard.ndim) if dim not in removed)
    sizes = dict.fromkeys(numbers.inserted_window_dims, 1)
    for dim, each in zip(windows, numbers.update_window_dims, strict=True):
        if dim in numbers.scatter_dims_to_operand_dims or part.shape[each] != whole.shape[dim]:
            sizes[dim] = part.shape[each]
        elif own.shape[each] == shard.shape[dim]:
            part_cut[each] = shards[dim]
    mine = starts[tuple(cut)]
    if not _has_part(part, own, part_cut) or mine.shape != own_starts.shape:
        return False
    both = np.stack([mine, own_starts])
    return all(
        _is_column_alike(table, _positions(is_own, dim), size, base[dim], (whole.shape[dim], shard.shape[dim]), column)
        for dim, size in sizes.items()
        for column in [_column(both, numbers.scatter_dims_to_operand_dims, dim)]
    )


def _column(starts: Codes, dims: Sequence[int], dim: int) -> Codes | None:
    """Return the pairs of starts along a dim, in the global program and on a device; None if it has none."""
    return np.unique(starts[..., dims.index(dim)].reshape(2, -1), axis=1).T if dim in dims else None


def _is_column_alike(
    table: ElementTable, positions: Codes, size: int, base: int, extents: tuple[int, int], column: Codes | None
) -> bool:
    if column is None:  # windows at the start of the dim
        return base == 0 and extents[0] == extents[1]
    return all(_hits_alike(table, positions, base, size, extents, tuple(pair)) for pair in column.tolist())


def _columns(indices: Codes, vector_dim: int) -> Codes:
    return np.moveaxis(indices if vector_dim < indices.ndim else indices[..., None], vector_dim, -1)


def _hits_alike(
    table: ElementTable, positions: Codes, base: int, size: int, extents: tuple[int, int], starts: tuple[int, int]
) -> bool:
    """Return whether windows at two starts hit the same elements of a shard, whatever the value of the first.

    A window that does not lie within the value, or within the shard, changes nothing.
    """
    (start, own_start), (last, own_last) = starts, (each - size for each in extents)
    known, own_known = integer(table, start), integer(table, own_start)
    if known is not None and own_known is not None:
        tried = [(known, own_known)]
    else:
        shift = shift_from(table, own_start, start)
        if shift is None:
            return False
        values = {*range(last + 1), *range(-shift, own_last + 1 - shift)}
        tried = [(value, value + shift) for value in values]
    for value, own_value in tried:
        is_in, is_own_in = 0 <= value <= last, 0 <= own_value <= own_last
        mine = positions if is_in and is_own_in else positions[:0]
        shifts = base - value, -own_value
        if not _is_moved_alike(mine, *shifts, size):
            return False
        if is_in != is_own_in and _hits(positions, shifts[is_own_in], size):
            return False
    return True


def _hits(positions: Codes, shift: int, size: int) -> bool:
    return bool(((positions + shift >= 0) & (positions + shift < size)).any())


UPDATES: dict[str, Check] = {
    "stablehlo.dynamic_update_slice": _is_updated_alike,
    "stablehlo.scatter": _is_scattered_alike,
}
