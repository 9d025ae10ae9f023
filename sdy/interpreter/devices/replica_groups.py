"""Which devices talk to one another in a collective, and how their values are brought together on the grid.

Groups that are a product of grid axes are brought together by a transpose and a reshape. Others, such as a group in
an order that no axes give, look their members up by position.
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
from sdy.interpreter.devices.grid import Grid, IntArray, cuts_of, positions_by_id, refined, strides_of
from sdy.interpreter.failure import failure
from sdy.model.cached_hash import CachedHash

Rows = tuple[tuple[int, ...], ...]


class Strategy(Enum):
    """What the numbers in replica groups stand for."""

    CROSS_REPLICA = "replicas, in every partition by itself"
    CROSS_PARTITION = "partitions, in every replica by itself"
    CROSS_REPLICA_AND_PARTITION = "replicas, with all their partitions"
    FLATTENED_IDS = "devices"


@dataclass(frozen=True, slots=True)
class ReplicaGroups(CachedHash):
    """The groups of a collective as the op gives them; no rows stand for one group of all."""

    rows: Rows
    strategy: Strategy

    __hash__ = CachedHash.__hash__


def device_groups(groups: ReplicaGroups, replicas: int, partitions: int) -> Rows:
    """The groups as device ids, in group order. A -1 fills up a short row, and is left out."""
    rows = tuple(tuple(number for number in row if number >= 0) for row in groups.rows)
    match groups.strategy:
        case Strategy.CROSS_REPLICA:
            rows = rows or (tuple(range(replicas)),)
            return tuple(tuple(r * partitions + p for r in row) for row in rows for p in range(partitions))
        case Strategy.CROSS_PARTITION:
            rows = rows or (tuple(range(partitions)),)
            return tuple(tuple(r * partitions + p for p in row) for row in rows for r in range(replicas))
        case Strategy.CROSS_REPLICA_AND_PARTITION:
            rows = rows or (tuple(range(replicas)),)
            return tuple(tuple(r * partitions + p for p in range(partitions) for r in row) for row in rows)
        case Strategy.FLATTENED_IDS:
            return rows or (tuple(range(replicas * partitions)),)


@dataclass(frozen=True, slots=True)
class AxisGroups:
    """The devices of a group differ along `axes` of the grid, the first of which is the major one in group order."""

    grid: Grid
    axes: tuple[int, ...]

    @property
    def size(self) -> int:
        """Devices in a group."""
        return prod(self.grid.sizes[axis] for axis in self.axes)

    @property
    def _others(self) -> list[int]:
        return [axis for axis in range(self.grid.rank) if axis not in self.axes]

    @property
    def group_rank(self) -> int:
        """How many dims tell groups apart."""
        return self.grid.rank - len(self.axes)

    def brought_together(self, array: Array) -> Array:
        """The dims that tell groups apart, then one dim for the members of a group, then the tensor."""
        rank = self.grid.rank
        sizes = [self.grid.sizes[axis] if axis in self.axes else array.shape[axis] for axis in range(rank)]
        full = np.broadcast_to(array, (*sizes, *array.shape[rank:]))
        ordered = full.transpose([*self._others, *self.axes, *range(rank, array.ndim)])
        return ordered.reshape((*(sizes[axis] for axis in self._others), self.size, *array.shape[rank:]))

    def given_to_all(self, array: Array) -> Array:
        """From one tensor per group to the same one at all members."""
        sizes = iter(array.shape)
        leading = tuple(1 if axis in self.axes else next(sizes) for axis in range(self.grid.rank))
        return array.reshape(leading + array.shape[self.group_rank :])

    def given_to_each(self, array: Array) -> Array:
        """From one tensor per group and member to each member its own."""
        others = array.shape[: self.group_rank]
        order = [*self._others, *self.axes]
        local = array.shape[self.group_rank + 1 :]
        digits = array.reshape((*others, *(self.grid.sizes[axis] for axis in self.axes), *local))
        back = [order.index(axis) for axis in range(self.grid.rank)]
        return digits.transpose([*back, *range(self.grid.rank, digits.ndim)])


@dataclass(frozen=True, slots=True)
class IndexGroups:
    """The grid positions of the members of each group, one row a group."""

    grid: Grid
    members: IntArray

    @property
    def size(self) -> int:
        """Devices in a group."""
        return self.members.shape[1]

    @property
    def group_rank(self) -> int:
        """How many dims tell groups apart."""
        return 1

    def brought_together(self, array: Array) -> Array:
        """One dim for the groups, one for the members of a group, then the tensor."""
        local = array.shape[self.grid.rank :]
        full = np.broadcast_to(array, self.grid.sizes + local)
        return full.reshape((self.grid.position_count, *local))[self.members]

    def given_to_all(self, array: Array) -> Array:
        """From one tensor per group to the same one at all members."""
        return self._placed(np.repeat(array, self.size, axis=0))

    def given_to_each(self, array: Array) -> Array:
        """From one tensor per group and member to each member its own."""
        return self._placed(array.reshape((self.members.size, *array.shape[2:])))

    def _placed(self, by_member: Array) -> Array:
        result = np.zeros((self.grid.position_count, *by_member.shape[1:]), by_member.dtype)
        result[self.members.reshape(-1)] = by_member
        return result.reshape(self.grid.sizes + by_member.shape[1:])

    def covered(self) -> Array:
        """Whether each position of the grid is in a group."""
        result = np.zeros(self.grid.position_count, np.bool_)
        result[self.members.reshape(-1)] = True
        return result.reshape(self.grid.sizes)


GroupLayout = AxisGroups | IndexGroups


@lru_cache(maxsize=1024)
def layout_of(groups: ReplicaGroups, grid: Grid) -> GroupLayout:
    """How the groups lie on the grid. Raises: SdyError SDY-X009 where they do not have one size."""
    layouts = layouts_of(groups, grid)
    if len(layouts) != 1:
        sizes = sorted(layout.size for layout in layouts)
        raise failure(
            "SDY-X009",
            f"replica groups of {sizes[0]} and of {sizes[-1]} devices in one collective",
            hint="only all_reduce may have groups of different sizes",
        )
    return layouts[0]


@lru_cache(maxsize=1024)
def layouts_of(groups: ReplicaGroups, grid: Grid) -> tuple[GroupLayout, ...]:
    """How the groups lie on the grid, the groups of each size by themselves.

    Raises: SdyError SDY-X009 where a device is in no group or in several, SDY-X010 where one of a group is elsewhere.
    """
    rows = _position_rows(groups, grid)
    counts = np.bincount([position for row in rows for position in row], minlength=grid.position_count)
    if (counts != 1).any():
        position = int(np.flatnonzero(counts != 1)[0])
        raise failure(
            "SDY-X009",
            f"device {grid.ids[position]} is in {counts[position]} replica groups",
            hint="list every device in one group",
        )
    axes = _axes_of(rows, grid)
    if axes is not None:
        return (AxisGroups(grid, axes),)
    by_size: dict[int, list[tuple[int, ...]]] = {}
    for row in rows:
        by_size.setdefault(len(row), []).append(row)
    return tuple(IndexGroups(grid, np.array(members, np.int64)) for members in by_size.values())


def grid_for(grid: Grid, all_groups: Iterable[ReplicaGroups]) -> Grid:
    """The grid, cut further so that as many of the groups as possible are products of its axes."""
    for groups in dict.fromkeys(all_groups):
        try:
            rows = _position_rows(groups, grid)
        except SdyError:
            continue  # said where the op is run, with its place
        cuts = _cuts_of_rows(rows, grid.position_count)
        finer = None if cuts is None else refined(grid, cuts)
        grid = grid if finer is None else finer
    return grid


def _position_rows(groups: ReplicaGroups, grid: Grid) -> Rows:
    """The groups that the grid holds, as positions."""
    positions = positions_by_id(grid)
    rows: list[tuple[int, ...]] = []
    for row in device_groups(groups, grid.replica_count, grid.partition_count):
        held = [device for device in row if device in positions]
        if held and len(held) < len(row):
            absent = next(device for device in row if device not in positions)
            raise failure(
                "SDY-X010",
                f"device {held[0]} waits in a collective for device {absent}, which is not there",
                hint="all devices of a replica group must reach the same collective",
            )
        if held:
            rows.append(tuple(positions[device] for device in row))
    return tuple(rows)


def _axes_of(rows: Rows, grid: Grid) -> tuple[int, ...] | None:
    """The grid axes, major first, along which the members of a group differ; None where the groups are no product."""
    digits = _digits_of(rows)
    if digits is None or _cuts_of_rows(rows, grid.position_count) is None:
        return None
    ends = strides_of(grid.sizes)
    axes: list[int] = []
    for stride, size in digits:
        inside = [axis for axis in range(grid.rank) if ends[axis] <= stride * size and ends[axis + 1] >= stride]
        if prod(grid.sizes[axis] for axis in inside) != size:
            return None
        axes += [axis for axis in inside if grid.sizes[axis] > 1]
    return tuple(axes)


def _cuts_of_rows(rows: Rows, position_count: int) -> tuple[int, ...] | None:
    """Where a grid must be cut so that the groups are a product of axes; None where no cuts do this."""
    digits = _digits_of(rows)
    if digits is None or len(rows) * len(rows[0]) != position_count:
        return None
    cuts = {cut for stride, size in digits for cut in (stride, stride * size)}
    whole = refined(Grid((position_count,), 1, position_count), cuts)
    if whole is None:
        return None
    # A group begins where its digits are 0, or its members would carry into other digits.
    starts_at_zero = all(row[0] // stride % size == 0 for row in rows for stride, size in digits)
    return cuts_of(whole) if starts_at_zero else None


def _digits_of(rows: Rows) -> list[tuple[int, int]] | None:
    """Stride and size of the digits that the members of every group count through, major first.

    None where groups are not alike, or where the distances of a group are no mixed-radix numbers.
    """
    table = [np.array(row) - row[0] for row in rows]
    offsets = table[0] if table else np.zeros(0, np.int64)
    if not len(offsets) or any(len(row) != len(offsets) or (row != offsets).any() for row in table):
        return None
    digits: list[tuple[int, int]] = []
    counted = np.zeros(1, np.int64)
    while len(counted) < len(offsets):
        stride = int(offsets[len(counted)])
        if stride <= 0:
            return None
        size = 2
        while len(counted) * size < len(offsets) and offsets[len(counted) * size] == stride * size:
            size += 1
        digits.insert(0, (stride, size))
        counted = np.add.outer(np.arange(size) * stride, counted).reshape(-1)
    return digits if len(counted) == len(offsets) and (counted == offsets).all() else None
