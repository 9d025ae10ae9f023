"""The devices of a run as a row-major grid: the mesh axes, cut as finely as shardings and collectives need.

A cut is a stride at which the grid may be split, counted from the minor end: the grid `4 x 2` has the cuts 1, 2 and 8.
Grids of the same devices join where their cuts, in order, divide one another.
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
from sdy.model.mesh import Mesh

Cuts = tuple[int, ...]  # ascending from 1 to the number of devices, each dividing the next
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grid(CachedHash):
    """The sizes of the axes, and the device at each position in row-major order.

    No `device_ids` stand for 0, 1, 2 and so on. The id of a device is `replica * partition_count + partition`.
    A grid holds fewer devices than there are where some of them run a branch that the others do not.
    """

    sizes: tuple[int, ...]
    replica_count: int
    partition_count: int
    device_ids: tuple[int, ...] = ()

    __hash__ = CachedHash.__hash__

    @property
    def rank(self) -> int:
        """How many axes the grid has."""
        return len(self.sizes)

    @property
    def position_count(self) -> int:
        """How many devices the grid holds."""
        return prod(self.sizes)

    @property
    def ids(self) -> IntArray:
        """The device at each position, in row-major order."""
        return np.array(self.device_ids, np.int64) if self.device_ids else np.arange(self.position_count)

    def position_of(self, device: int) -> int:
        """Where `device` stands, in row-major order. Raises: KeyError where the grid does not hold it."""
        return positions_by_id(self)[device]


ONE_DEVICE = Grid((), replica_count=1, partition_count=1)


def grid_of(partition_count: int, replica_count: int = 1) -> Grid:
    """All devices in one row, or in one row a replica where there are several."""
    sizes = tuple(size for size in (replica_count, partition_count) if size > 1)
    return Grid(sizes, replica_count, partition_count)


def grid_of_mesh(mesh: Mesh, refs: Iterable[AxisRef] = ()) -> Grid:
    """The devices of `mesh`, as partitions of one replica, cut so that each of `refs` is made of whole grid axes.

    A mesh without axes gives the grid of rank 0, which any other extends.
    Raises: ValueError where no grid holds all refs.
    """
    sizes = tuple(axis.size for axis in mesh.axes if axis.size > 1)
    whole = Grid(sizes, 1, prod(sizes), mesh.device_ids if mesh.axes else ())
    cuts = {cut for ref in refs for cut in _cuts_of_ref(ref, mesh)}
    grid = refined(whole, cuts)
    if grid is None:
        raise ValueError("sub-axes of one sharding overlap without dividing one another")
    return grid


def axes_of_ref(grid: Grid, ref: AxisRef, mesh: Mesh) -> tuple[int, ...]:
    """The grid axes that make up `ref`, major first."""
    low, high = _cuts_of_ref(ref, mesh)
    ends = strides_of(grid.sizes)
    return tuple(axis for axis in range(grid.rank) if ends[axis + 1] >= low and ends[axis] <= high)


def cuts_of(grid: Grid) -> Cuts:
    """The strides at which the grid is cut, 1 and the number of positions included."""
    return tuple(sorted(set(strides_of(grid.sizes))))


def refined(grid: Grid, cuts: Iterable[int]) -> Grid | None:
    """The grid cut at `cuts` too; None where the cuts do not divide one another."""
    joined = sorted({*strides_of(grid.sizes), *cuts})
    if any(high % low for low, high in pairwise(joined)) or joined[-1] != grid.position_count:
        return None
    sizes = tuple(high // low for low, high in pairwise(joined))[::-1]
    return Grid(sizes, grid.replica_count, grid.partition_count, grid.device_ids)


@lru_cache(maxsize=256)
def positions_by_id(grid: Grid) -> dict[int, int]:
    """The position of every device of the grid, by its id."""
    return {int(device): position for position, device in enumerate(grid.ids)}


def subgrid(grid: Grid, positions: IntArray) -> Grid:
    """The devices at `positions`, in one row."""
    ids = tuple(grid.ids[positions].tolist())
    return Grid((len(ids),), grid.replica_count, grid.partition_count, ids)


def strides_of(sizes: tuple[int, ...]) -> list[int]:
    """How many positions lie minor to each axis boundary, from the major end to the minor one."""
    return list(accumulate(reversed(sizes), lambda left, right: left * right, initial=1))[::-1]


def _cuts_of_ref(ref: AxisRef, mesh: Mesh) -> tuple[int, int]:
    """The strides between which `ref` lies: minor end and major end."""
    names = [axis.name for axis in mesh.axes]
    minor = prod(axis.size for axis in mesh.axes[names.index(ref.name) + 1 :])
    whole = mesh.axis_size(ref.name)
    return minor * (whole // axis_end(ref, mesh)), minor * (whole // ref.pre_size)
