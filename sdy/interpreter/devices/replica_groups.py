"""Replica groups on the grid: which devices communicate in a collective, and how their values are gathered.

The members of groups that are a product of grid axes are gathered by a transpose and a reshape. The members of other
groups, such as a group in an order that no axes give, are looked up by position.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from math import prod

import numpy as np

from sdy.diagnostics.diagnostic import SdyError
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import Grid, IntArray, ascending_strides, positions_by_id, refined, strides_of
from sdy.interpreter.failure import failure
from sdy.model.cached_hash import CachedHash
from sdy.model.mesh_digits import Digit, counting_digits

Rows = tuple[tuple[int, ...], ...]


class GroupingStrategy(Enum):
    """The meaning of the numbers in replica groups. Source: StableHLO, "Grouping devices"."""

    CROSS_REPLICA = "replicas, separately in every partition"
    CROSS_PARTITION = "partitions, separately in every replica"
    CROSS_REPLICA_AND_PARTITION = "replicas, with all their partitions"
    FLATTENED_IDS = "devices"


@dataclass(frozen=True, slots=True)
class ReplicaGroups(CachedHash):
    """The groups of a collective as the op lists them; no rows mean one group of all."""

    rows: Rows
    strategy: GroupingStrategy

    __hash__ = CachedHash.__hash__


def device_groups(groups: ReplicaGroups, replicas: int, partitions: int) -> Rows:
    """Return the groups as device ids, in group order. A -1 pads a short row and is left out."""
    rows = tuple(tuple(number for number in row if number >= 0) for row in groups.rows)
    match groups.strategy:
        case GroupingStrategy.CROSS_REPLICA:
            rows = rows or (tuple(range(replicas)),)
            return tuple(tuple(r * partitions + p for r in row) for row in rows for p in range(partitions))
        case GroupingStrategy.CROSS_PARTITION:
            rows = rows or (tuple(range(partitions)),)
            return tuple(tuple(r * partitions + p for p in row) for row in rows for r in range(replicas))
        case GroupingStrategy.CROSS_REPLICA_AND_PARTITION:
            rows = rows or (tuple(range(replicas)),)
            return tuple(tuple(r * partitions + p for p in range(partitions) for r in row) for row in rows)
        case GroupingStrategy.FLATTENED_IDS:
            return rows or (tuple(range(replicas * partitions)),)


@dataclass(frozen=True, slots=True)
class AxisGroups:
    """The devices of a group differ along `axes` of the grid, the first of which is the major one in group order."""

    grid: Grid
    axes: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of devices in a group."""
        return prod(self.grid.sizes[axis] for axis in self.axes)

    @property
    def _others(self) -> list[int]:
        return [axis for axis in range(self.grid.rank) if axis not in self.axes]

    @property
    def group_rank(self) -> int:
        """The number of array dims that distinguish groups."""
        return self.grid.rank - len(self.axes)

    def gather_members(self, array: Array) -> Array:
        """Return the array with the dims of the groups, then one dim for the members of a group, then the tensor."""
        rank = self.grid.rank
        sizes = [self.grid.sizes[axis] if axis in self.axes else array.shape[axis] for axis in range(rank)]
        full = np.broadcast_to(array, (*sizes, *array.shape[rank:]))
        ordered = full.transpose([*self._others, *self.axes, *range(rank, array.ndim)])
        return ordered.reshape((*(sizes[axis] for axis in self._others), self.size, *array.shape[rank:]))

    def to_all_members(self, array: Array) -> Array:
        """Give the tensor of each group to all its members."""
        sizes = iter(array.shape)
        leading = tuple(1 if axis in self.axes else next(sizes) for axis in range(self.grid.rank))
        return array.reshape(leading + array.shape[self.group_rank :])

    def to_each_member(self, array: Array) -> Array:
        """Give each member of a group its own tensor."""
        others = array.shape[: self.group_rank]
        order = [*self._others, *self.axes]
        local = array.shape[self.group_rank + 1 :]
        digits = array.reshape((*others, *(self.grid.sizes[axis] for axis in self.axes), *local))
        back = [order.index(axis) for axis in range(self.grid.rank)]
        return digits.transpose([*back, *range(self.grid.rank, digits.ndim)])


@dataclass(frozen=True, slots=True)
class IndexGroups:
    """The grid positions of the members of each group: one row per group, one column per member."""

    grid: Grid
    members: IntArray

    @property
    def size(self) -> int:
        """The number of devices in a group."""
        return self.members.shape[1]

    @property
    def group_rank(self) -> int:
        """The number of array dims that distinguish groups."""
        return 1

    def gather_members(self, array: Array) -> Array:
        """Return the array with one dim for the groups, one for the members of a group, then the tensor."""
        local = array.shape[self.grid.rank :]
        full = np.broadcast_to(array, self.grid.sizes + local)
        return full.reshape((self.grid.position_count, *local))[self.members]

    def to_all_members(self, array: Array) -> Array:
        """Give the tensor of each group to all its members."""
        return self._by_position(np.repeat(array, self.size, axis=0))

    def to_each_member(self, array: Array) -> Array:
        """Give each member of a group its own tensor."""
        return self._by_position(array.reshape((self.members.size, *array.shape[2:])))

    def _by_position(self, by_member: Array) -> Array:
        result = np.zeros((self.grid.position_count, *by_member.shape[1:]), by_member.dtype)
        result[self.members.reshape(-1)] = by_member
        return result.reshape(self.grid.sizes + by_member.shape[1:])

    def covered(self) -> Array:
        """Return for each position of the grid whether it is in a group."""
        result = np.zeros(self.grid.position_count, np.bool_)
        result[self.members.reshape(-1)] = True
        return result.reshape(self.grid.sizes)


GroupLayout = AxisGroups | IndexGroups


@lru_cache(maxsize=1024)
def layout_of(groups: ReplicaGroups, grid: Grid) -> GroupLayout:
    """Return how to gather the groups. Raises: SdyError SDY-X009 if they have different sizes."""
    layouts = layouts_of(groups, grid)
    if len(layouts) != 1:
        sizes = sorted(layout.size for layout in layouts)
        raise failure(
            "SDY-X009",
            f"replica groups must have the same size, got groups of {sizes[0]} and of {sizes[-1]} devices",
            hint="only all_reduce may have groups of different sizes",
        )
    return layouts[0]


@lru_cache(maxsize=1024)
def layouts_of(groups: ReplicaGroups, grid: Grid) -> tuple[GroupLayout, ...]:
    """Return how to gather the groups, one layout per group size.

    Raises: SdyError SDY-X009 if a device is in no group or in several; SDY-X010 if only a part of a group runs here.
    """
    rows = _position_rows(groups, grid)
    counts = np.bincount([position for row in rows for position in row], minlength=grid.position_count)
    if (counts != 1).any():
        position = int(np.flatnonzero(counts != 1)[0])
        raise failure(
            "SDY-X009",
            f"device {grid.ids[position]} must be in one replica group, but is in {counts[position]}",
            hint="list every device in exactly one group",
        )
    axes = _axes_of(rows, grid)
    if axes is not None:
        return (AxisGroups(grid, axes),)
    by_size: dict[int, list[tuple[int, ...]]] = {}
    for row in rows:
        by_size.setdefault(len(row), []).append(row)
    return tuple(IndexGroups(grid, np.array(members, np.int64)) for members in by_size.values())


def grid_for(grid: Grid, all_groups: Iterable[ReplicaGroups]) -> Grid:
    """Refine the grid so that as many of the groups as possible are products of its axes."""
    for groups in dict.fromkeys(all_groups):
        try:
            rows = _position_rows(groups, grid)
        except SdyError:
            continue  # reported when the op runs, with its location
        strides = _strides_of_rows(rows, grid.position_count)
        finer = None if strides is None else refined(grid, strides)
        grid = grid if finer is None else finer
    return grid


def _position_rows(groups: ReplicaGroups, grid: Grid) -> Rows:
    """Return the groups of devices of the grid, as positions."""
    positions = positions_by_id(grid)
    rows: list[tuple[int, ...]] = []
    for row in device_groups(groups, grid.replica_count, grid.partition_count):
        held = [device for device in row if device in positions]
        if held and len(held) < len(row):
            absent = next(device for device in row if device not in positions)
            raise failure(
                "SDY-X010",
                f"device {held[0]} waits in a collective for device {absent}, which does not run it",
                hint="all devices of a replica group must reach the same collective",
            )
        if held:
            rows.append(tuple(positions[device] for device in row))
    return tuple(rows)


def _axes_of(rows: Rows, grid: Grid) -> tuple[int, ...] | None:
    """Return the grid axes, major first, along which members of a group differ; None if groups are not a product."""
    digits = _digits_of(rows)
    if digits is None or _strides_of_rows(rows, grid.position_count) is None:
        return None
    ends = strides_of(grid.sizes)
    axes: list[int] = []
    for digit in digits:
        end = digit.stride * digit.size
        inside = [axis for axis in range(grid.rank) if ends[axis] <= end and ends[axis + 1] >= digit.stride]
        if prod(grid.sizes[axis] for axis in inside) != digit.size:
            return None
        axes += [axis for axis in inside if grid.sizes[axis] > 1]
    return tuple(axes)


def _strides_of_rows(rows: Rows, position_count: int) -> tuple[int, ...] | None:
    """Return the strides that a grid needs for the groups to be a product of its axes; None if no grid has them."""
    digits = _digits_of(rows)
    if digits is None or len(rows) * len(rows[0]) != position_count:
        return None
    strides = {end for digit in digits for end in (digit.stride, digit.stride * digit.size)}
    grid = refined(Grid((position_count,), 1, position_count), strides)
    if grid is None:
        return None
    # The digits of the first member must be 0; otherwise counting would carry into other digits.
    starts_at_zero = all(digit.of(row[0]) == 0 for row in rows for digit in digits)
    return ascending_strides(grid) if starts_at_zero else None


def _digits_of(rows: Rows) -> tuple[Digit, ...] | None:
    """Return the digits that the members of every group count through, major first.

    None if the groups differ in shape, or if the offsets in a group do not count in mixed radix.
    """
    offsets = {tuple(position - row[0] for position in row) for row in rows}
    return counting_digits(offsets.pop()) if len(offsets) == 1 and rows[0] else None
