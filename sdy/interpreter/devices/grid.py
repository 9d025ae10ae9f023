"""The devices of a run as a row-major grid: the mesh axes, split as finely as shardings and collectives need.

The strides of a grid are the products of its minor axes: the grid `4 x 2` has the strides 1, 2 and 8. Two grids of the
same devices have a common refinement if their strides, in ascending order, divide one another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from sdy.model.axis import AxisRef
from sdy.model.axis_on_mesh import axis_end
from sdy.model.cached_hash import CachedHash
from sdy.model.mesh import Mesh, check_listed

Strides = tuple[int, ...]  # ascending from 1 to the number of devices, each dividing the next
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grid(CachedHash):
    """The sizes of the axes, and the device at each position in row-major order.

    Empty `device_ids` mean 0, 1, 2, .... The id of a device is `replica * partition_count + partition`. Inside a branch
    that only some devices take, the grid holds only those.
    """

    sizes: tuple[int, ...]
    replica_count: int
    partition_count: int
    device_ids: tuple[int, ...] = ()

    __hash__ = CachedHash.__hash__

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.sizes)

    @property
    def position_count(self) -> int:
        """The number of devices in the grid."""
        return prod(self.sizes)

    @property
    def ids(self) -> IntArray:
        """The device at each position, in row-major order. Raises: SdyError SDY-L019 if there are too many."""
        check_listed(self.position_count)
        return np.array(self.device_ids, np.int64) if self.device_ids else np.arange(self.position_count)

    def position_of(self, device: int) -> int:
        """Return the row-major position of `device`. Raises: KeyError if the grid does not contain it."""
        return positions_by_id(self)[device]


ONE_DEVICE = Grid((), replica_count=1, partition_count=1)


def grid_of(partition_count: int, replica_count: int = 1) -> Grid:
    """Return the grid of all devices: `replicas x partitions`, without axes of size 1."""
    sizes = tuple(size for size in (replica_count, partition_count) if size > 1)
    return Grid(sizes, replica_count, partition_count)


def grid_of_mesh(mesh: Mesh, refs: Iterable[AxisRef] = ()) -> Grid:
    """Return the devices of `mesh` as partitions of one replica, split so that each of `refs` consists of grid axes.

    A mesh without axes gives the grid of rank 0, which every grid refines.
    Raises: ValueError if no grid contains all refs.
    """
    sizes = tuple(axis.size for axis in mesh.axes if axis.size > 1)
    unsplit = Grid(sizes, 1, prod(sizes), mesh.device_ids if mesh.axes else ())
    strides = {stride for ref in refs for stride in _strides_of_ref(ref, mesh)}
    grid = refined(unsplit, strides)
    if grid is None:
        raise ValueError("sub-axes of one sharding overlap without dividing one another")
    return grid


def axes_of_ref(grid: Grid, ref: AxisRef, mesh: Mesh) -> tuple[int, ...]:
    """Return the grid axes that make up `ref`, major first."""
    low, high = _strides_of_ref(ref, mesh)
    ends = strides_of(grid.sizes)
    return tuple(axis for axis in range(grid.rank) if ends[axis + 1] >= low and ends[axis] <= high)


def ascending_strides(grid: Grid) -> Strides:
    """Return the strides of the grid in ascending order, from 1 to the number of positions."""
    return tuple(sorted(set(strides_of(grid.sizes))))


def refined(grid: Grid, strides: Iterable[int]) -> Grid | None:
    """Return the grid split at `strides` too; None if the strides do not divide one another."""
    joined = sorted({*strides_of(grid.sizes), *strides})
    if any(high % low for low, high in pairwise(joined)) or joined[-1] != grid.position_count:
        return None
    sizes = tuple(high // low for low, high in pairwise(joined))[::-1]
    return Grid(sizes, grid.replica_count, grid.partition_count, grid.device_ids)


@lru_cache(maxsize=256)
def positions_by_id(grid: Grid) -> dict[int, int]:
    """Return the position of every device of the grid, by its id."""
    return {int(device): position for position, device in enumerate(grid.ids)}


def subgrid(grid: Grid, positions: IntArray) -> Grid:
    """Return the grid of the devices at `positions`, with one axis."""
    ids = tuple(grid.ids[positions].tolist())
    return Grid((len(ids),), grid.replica_count, grid.partition_count, ids)


def strides_of(sizes: tuple[int, ...]) -> list[int]:
    """Return the stride of each axis boundary, from the major end (all positions) to the minor one (1)."""
    return list(accumulate(reversed(sizes), lambda left, right: left * right, initial=1))[::-1]


def _strides_of_ref(ref: AxisRef, mesh: Mesh) -> tuple[int, int]:
    """Return the strides of the minor and the major end of `ref`."""
    names = [axis.name for axis in mesh.axes]
    minor = prod(axis.size for axis in mesh.axes[names.index(ref.name) + 1 :])
    size = mesh.axis_size(ref.name)
    return minor * (size // axis_end(ref, mesh)), minor * (size // ref.pre_size)
