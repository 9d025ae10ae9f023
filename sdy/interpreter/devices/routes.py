"""Which device sends to which, and how values move along: only along the grid axes on which something moves."""

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
class Route:
    """For each position along the `moving` axes of the grid, in row-major order, the position that it gets from.

    -1 stands for positions that get zeros. Along the other axes everybody gets from devices at the same place.
    """

    grid: Grid
    moving: tuple[int, ...]
    sources: IntArray


@lru_cache(maxsize=1024)
def route_of_pairs(transfers: ReplicaGroups, grid: Grid) -> Route:
    """The route of pairs of source and target. Raises: SdyError SDY-X010 where a source is not in the grid."""
    pairs = device_groups(transfers, grid.replica_count, grid.partition_count) if transfers.rows else ()
    return _route(grid, pairs)


@lru_cache(maxsize=1024)
def route_from_root(groups: ReplicaGroups, grid: Grid, root: int) -> Route:
    """The route from the member of every group at place `root` to all of its members.

    Raises: SdyError SDY-X009 where a group has no such member.
    """
    rows = device_groups(groups, grid.replica_count, grid.partition_count)
    if not all(0 <= root < len(row) for row in rows):
        raise failure(
            "SDY-X009", f"the root of a broadcast is member {root} of groups of {min(map(len, rows))} devices"
        )
    return _route(grid, ((row[root], target) for row in rows for target in row))


def sent(array: Array, route: Route) -> Array:
    """What each device gets. Along axes where nothing moves, the array keeps the size that it has."""
    grid, moving = route.grid, route.moving
    still = [axis for axis in range(grid.rank) if axis not in moving]
    order = [*moving, *still]
    sizes = [grid.sizes[axis] if axis in moving else array.shape[axis] for axis in range(grid.rank)]
    full = np.broadcast_to(array, (*sizes, *array.shape[grid.rank :]))
    ordered = full.transpose([*order, *range(grid.rank, array.ndim)])
    places = np.unravel_index(np.maximum(route.sources, 0), grid.sizes) if grid.rank else ()
    taken = ordered[tuple(places[axis] for axis in moving)] if moving else ordered[np.newaxis]
    is_target = (route.sources >= 0).reshape((-1,) + (1,) * (taken.ndim - 1))
    received = np.where(is_target, taken, np.zeros((), array.dtype))
    unfolded = received.reshape((*(grid.sizes[axis] for axis in moving), *received.shape[1:]))
    back = [order.index(axis) for axis in range(grid.rank)]
    return unfolded.transpose([*back, *range(grid.rank, unfolded.ndim)])


def _route(grid: Grid, pairs: Iterable[tuple[int, ...]]) -> Route:
    positions = positions_by_id(grid)
    sources = np.full(grid.position_count, -1, np.int64)
    for source, target in pairs:
        if (source in positions) != (target in positions):
            raise failure(
                "SDY-X010",
                f"device {target} waits for device {source}, and one of them is not there",
                hint="both devices of a pair must exist, and reach the same collective",
            )
        if target in positions:
            sources[positions[target]] = positions[source]
    moving = _moving_axes(grid, sources)
    index = tuple(slice(None) if axis in moving else 0 for axis in range(grid.rank))
    return Route(grid, moving, sources.reshape(grid.sizes)[index].reshape(-1))


def _moving_axes(grid: Grid, sources: IntArray) -> tuple[int, ...]:
    """The axes along which sources differ from targets, or where it matters for other axes which device one is."""
    table = sources.reshape(grid.sizes)
    is_none = table < 0
    places = np.unravel_index(np.maximum(table, 0), grid.sizes) if grid.rank else ()
    own = np.indices(grid.sizes)
    moving: list[int] = []
    for axis in range(grid.rank):
        first = (slice(None),) * axis + (slice(0, 1),)
        stays = ((places[axis] == own[axis]) | is_none).all() and (is_none == is_none[first]).all()
        others = [place for other, place in enumerate(places) if other != axis]
        if not stays or any(((place != place[first]) & ~is_none).any() for place in others):
            moving.append(axis)
    return tuple(moving)
