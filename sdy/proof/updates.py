"""Updates of slices whose starts are values: of small values, by trying all starts.

A shard may have margins around it, so that an update that lies in another shard changes elements of them only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from sdy.proof.elements import ARBITRARY, MOST_PLACES, Codes, ElementTable
from sdy.proof.relations import NotProvedError
from sdy.proof.walk import shape_of


def updated(table: ElementTable, op: Operation, operands: Sequence[Codes]) -> Codes:
    """Return the codes of an update on shards, of an update of the global program.

    Elements that are not those of the global value, such as in margins, are arbitrary afterwards. Raises:
    NotProvedError if it is none of the global updates.
    """
    count = max(map(len, operands))
    rows = [[each[device % len(each)] for each in operands] for device in range(count)]
    for update in table.updates:
        if update[0].ndim == len(shape_of(op.operands[0])):
            found = [_updated_shard(table, update, row) for row in rows]
            if all(each is not None for each in found):
                return np.stack([each for each in found if each is not None])
    raise NotProvedError("an update of a shard that is none of the program")


def _updated_shard(table: ElementTable, update: Sequence[Codes], row: Sequence[Codes]) -> Codes | None:
    """Return the codes of one device after an update, given that of the global program and its own operands."""
    whole, part, *starts, result = update
    shard, own, *own_starts = row
    center = tuple(size // 2 for size in shard.shape)
    for place in np.argwhere(whole == shard[center])[:MOST_PLACES]:
        base = place - center
        low, high = np.maximum(base, 0), np.minimum(base + shard.shape, whole.shape)
        inner, window = tuple(map(slice, low - base, high - base)), tuple(map(slice, low, high))
        is_own: npt.NDArray[np.bool_] = np.zeros(shard.shape, np.bool_)
        is_own[inner] = shard[inner] == whole[window]
        moved = [
            _is_moved_alike(
                table, is_own, dim, int(base[dim]), (whole, part, starts[dim]), (shard, own, own_starts[dim])
            )
            for dim in range(shard.ndim)
        ]
        parts = tuple(
            slice(int(base[dim]), int(base[dim]) + own.shape[dim]) if size == part.shape[dim] else slice(None)
            for dim, size in enumerate(whole.shape)
        )
        if all(moved) and part[parts].shape == own.shape and bool((part[parts] == own).all()):
            found = np.full(shard.shape, ARBITRARY, np.int64)
            found[inner] = np.where(is_own[inner], result[window], ARBITRARY)
            return found
    return None


def _is_moved_alike(
    table: ElementTable,
    is_own: npt.NDArray[np.bool_],
    dim: int,
    base: int,
    update: tuple[Codes, Codes, Codes],
    own: tuple[Codes, Codes, Codes],
) -> bool:
    """Return whether, along a dim and for every start, the same elements of the shard get those of the update."""
    (whole, part, start), (shard, mine, own_start) = ((*each[:2], int(each[2])) for each in (update, own))
    size, extent = part.shape[dim], mine.shape[dim]
    last, own_last = whole.shape[dim] - size, shard.shape[dim] - extent
    if last == 0:  # an update of all elements, of which each device has its own
        return own_last == 0 and base >= 0
    if size != extent:
        return False
    positions = np.flatnonzero(is_own.any(tuple(each for each in range(is_own.ndim) if each != dim)))
    known = table.integer(start)
    for value in range(last + 1) if known is None else [min(max(known, 0), last)]:
        found = value if own_start == start and own_last == last else table.value(own_start, start, value, last)
        if found is None:
            return False
        first = min(max(found, 0), own_last)
        steps, own_steps = positions + base - value, positions - first
        is_new = (steps >= 0) & (steps < size)
        if bool((is_new != ((own_steps >= 0) & (own_steps < size))).any()):
            return False
        if bool((steps != own_steps)[is_new].any()):
            return False
    return True
