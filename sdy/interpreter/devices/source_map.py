"""Point-to-point transfers: for each device the device that it receives from, on the grid axes that matter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import Grid, IntArray, positions_by_id
from sdy.interpreter.devices.replica_groups import ReplicaGroups, device_groups
from sdy.interpreter.failure import failure


@dataclass(frozen=True, slots=True, eq=False)
class SourceMap:
    """For each row-major position along the `moving` axes of the grid, the position that it receives from.

    -1 means that the position receives zeros. Along the other axes every device receives from its own coordinate.
    """

    grid: Grid
    moving: tuple[int, ...]
    positions: IntArray


@lru_cache(maxsize=1024)
def sources_of_pairs(transfers: ReplicaGroups, grid: Grid) -> SourceMap:
    """Return the sources of (source, target) pairs. Raises: SdyError SDY-X010 if one device of a pair is absent."""
    pairs = device_groups(transfers, grid.replica_count, grid.partition_count) if transfers.rows else ()
    return _source_map(grid, pairs)


@lru_cache(maxsize=1024)
def sources_of_broadcast(groups: ReplicaGroups, grid: Grid, root: int) -> SourceMap:
    """Return the sources of a broadcast from member `root` of every group to all its members.

    Raises: SdyError SDY-X009 if a group has no such member.
    """
    rows = device_groups(groups, grid.replica_count, grid.partition_count)
    if not all(0 <= root < len(row) for row in rows):
        raise failure(
            "SDY-X009", f"the root of a broadcast is member {root}, but a group has {min(map(len, rows))} devices"
        )
    return _source_map(grid, ((row[root], target) for row in rows for target in row))


def received(array: Array, sources: SourceMap) -> Array:
    """Return what each device receives. Axes along which nothing moves keep their size."""
    grid, moving = sources.grid, sources.moving
    still = [axis for axis in range(grid.rank) if axis not in moving]
    order = [*moving, *still]
    sizes = [grid.sizes[axis] if axis in moving else array.shape[axis] for axis in range(grid.rank)]
    full = np.broadcast_to(array, (*sizes, *array.shape[grid.rank :]))
    ordered = full.transpose([*order, *range(grid.rank, array.ndim)])
    coordinates = np.unravel_index(np.maximum(sources.positions, 0), grid.sizes) if grid.rank else ()
    taken = ordered[tuple(coordinates[axis] for axis in moving)] if moving else ordered[np.newaxis]
    is_target = (sources.positions >= 0).reshape((-1,) + (1,) * (taken.ndim - 1))
    values = np.where(is_target, taken, np.zeros((), array.dtype))
    unfolded = values.reshape((*(grid.sizes[axis] for axis in moving), *values.shape[1:]))
    back = [order.index(axis) for axis in range(grid.rank)]
    return unfolded.transpose([*back, *range(grid.rank, unfolded.ndim)])


def _source_map(grid: Grid, pairs: Iterable[tuple[int, ...]]) -> SourceMap:
    positions = positions_by_id(grid)
    sources = np.full(grid.position_count, -1, np.int64)
    for source, target in pairs:
        if (source in positions) != (target in positions):
            raise failure(
                "SDY-X010",
                f"device {target} receives from device {source}, but only one of them runs this collective",
                hint="both devices of a pair must exist and reach the same collective",
            )
        if target in positions:
            sources[positions[target]] = positions[source]
    moving = _moving_axes(grid, sources)
    index = tuple(slice(None) if axis in moving else 0 for axis in range(grid.rank))
    return SourceMap(grid, moving, sources.reshape(grid.sizes)[index].reshape(-1))


def _moving_axes(grid: Grid, sources: IntArray) -> tuple[int, ...]:
    """Return the axes along which source and target differ, or on which the source along another axis depends."""
    table = sources.reshape(grid.sizes)
    is_none = table < 0
    coordinates = np.unravel_index(np.maximum(table, 0), grid.sizes) if grid.rank else ()
    own = np.indices(grid.sizes)
    moving: list[int] = []
    for axis in range(grid.rank):
        first = (slice(None),) * axis + (slice(0, 1),)
        stays = ((coordinates[axis] == own[axis]) | is_none).all() and (is_none == is_none[first]).all()
        others = [source for other, source in enumerate(coordinates) if other != axis]
        if not stays or any(((source != source[first]) & ~is_none).any() for source in others):
            moving.append(axis)
    return tuple(moving)
