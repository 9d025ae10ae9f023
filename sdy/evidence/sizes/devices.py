"""A smaller mesh for a local program: a few devices along each axis, with the same groups and offsets.

The devices whose coordinates are small along every axis stay, or along every digit of an axis of which collectives move
parts. This is possible if every group of devices that communicates is a product of full digits, and if a device uses
its number only to look up the offset of its shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise, permutations
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Use

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.stablehlo import collectives as ops
from sdy.dialects.stablehlo.elementwise import ConvertOp
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp
from sdy.interpreter.devices.grid import Grid, refined, strides_of
from sdy.interpreter.devices.replica_groups import GroupingStrategy, ReplicaGroups, grid_for
from sdy.model.devices.placement import ProgramPlacement
from sdy.model.mesh import MAX_LISTED_DEVICES, Mesh, MeshAxis

Rows = tuple[tuple[int, ...], ...]


def axis_digits(sizes: Sequence[int], groups: Iterable[Rows], transfers: Iterable[Rows]) -> tuple[tuple[int, ...], ...]:
    """Return, per axis of a mesh, the sizes of its digits, major first; an axis of size 1 has no digits.

    `groups` are replica groups, `transfers` pairs of a source and a target. As many of them as possible are products of
    digits, and change the order of digits.
    """
    count = int(np.prod(sizes))
    rows = (ReplicaGroups(each, GroupingStrategy.FLATTENED_IDS) for each in groups)
    grid = grid_for(Grid(tuple(size for size in sizes if size > 1), 1, count), rows)
    for pairs in dict.fromkeys(transfers):
        finer = refined(grid, _strides_of_transfer({pair[0]: pair[1] for pair in pairs}, count))
        grid = grid if finer is None else finer
    strides = strides_of(grid.sizes)
    ends = strides_of(tuple(sizes))
    return tuple(
        tuple(high // low for high, low in pairwise(strides) if high <= end and low >= start)
        for end, start in pairwise(ends)
    )


def _strides_of_transfer(targets: dict[int, int], count: int) -> set[int]:
    """Return the strides at which the digits of devices begin, if each device sends to one with its digits reordered.

    A device that is not listed keeps its data.
    """
    found: set[int] = set()
    stride = 1
    while stride < count:
        image = targets.get(stride, stride)
        size = next((n for n in range(2, count // stride) if targets.get(n * stride, n * stride) != n * image), None)
        end = count if size is None else size * stride
        found |= {stride, end, image, image * (end // stride)}
        stride = end
    return {each for each in found if 0 < each <= count}


IntArray = NDArray[np.int64]
GroupSize = tuple[int, int, tuple[int, ...]]  # before and after, and the positions of the devices that stay


@dataclass(frozen=True, slots=True)
class Table:
    """The offsets of shards, per device of the smaller mesh, and how many shards there are before and after.

    A table may also mark the devices that add a term to a sum: then `offsets` has the marks, and the rest is 0.
    """

    offsets: tuple[int, ...]
    extent: int  # of a shard
    before: int
    after: int


@dataclass(slots=True)
class SmallerMesh:
    """The devices that stay, and what changes with them: groups of collectives, and tables with an entry per device.

    There are `before` devices originally, and `after` of them stay; `axes` are the sizes of the axes afterwards.
    `ratios` has the number of shards in the smaller mesh for a number in the original one, if it is determined.
    """

    axes: tuple[int, ...] = ()
    before: int = 1
    after: int = 1
    groups: dict[Operation, Rows] = field(default_factory=dict[Operation, Rows])
    sizes: dict[Operation, GroupSize] = field(default_factory=dict[Operation, GroupSize])
    tables: dict[Operation, Table] = field(default_factory=dict[Operation, Table])
    ratios: dict[int, int] = field(default_factory=dict[int, int])

    def of(self, mesh: Mesh) -> Mesh:
        """Return a mesh with the devices that stay."""
        if self.before == self.after:
            return mesh
        sizes = zip(mesh.axes, self.axes, strict=True)
        return replace(mesh, axes=tuple(MeshAxis(axis.name, size) for axis, size in sizes))

    def ratio(self, before: int) -> int | None:
        """Return how many shards there are of a dim that had `before`; None if it depends on the axes."""
        return before if self.before == self.after else self.ratios.get(before)


def smaller_mesh(written: ModuleOp, local: ModuleOp, boundary: ProgramPlacement, most: int) -> SmallerMesh | None:
    """Return the mesh of at most `most` devices along each digit of an axis: see `axis_digits`.

    Return None if something distinguishes further devices, if the mesh is as small already, or too large to list.
    """
    mesh = boundary.mesh
    placements = (*boundary.arguments, *boundary.results)
    if mesh.device_ids or any(each.mesh != mesh for each in placements):
        return None
    if any(ref.sub_axis is not None for each in placements for ref in each.sharding.axis_refs()):
        return None
    if any(isinstance(op, ManualComputationOp) for op in pre_order(written)):
        return None
    digits = axis_digits([axis.size for axis in mesh.axes], *_groups_and_transfers(local))
    sizes = tuple(size for axis in digits for size in axis)
    if all(size <= most for size in sizes) or prod(sizes) > MAX_LISTED_DEVICES:
        return None
    coordinates = np.stack(np.unravel_index(np.arange(prod(sizes)), sizes), axis=1)
    small = tuple(min(size, most) for size in sizes)
    axes = tuple(prod(min(size, most) for size in axis) for axis in digits)
    found = SmallerMesh(axes, prod(sizes), prod(small), ratios=_ratios(sizes, small))
    devices = _Devices(sizes, small, coordinates)
    for op in pre_order(local):
        if not _add(op, devices, found):
            return None
    return found


def _groups_and_transfers(local: ModuleOp) -> tuple[list[Rows], list[Rows]]:
    """Return the replica groups of the collectives of a local program, and the pairs of its permutes."""
    groups: list[Rows] = []
    transfers: list[Rows] = []
    for op in pre_order(local):
        if ops.is_grouped(op):
            listed = op.properties["replica_groups"]
            groups += [_rows(listed)] if isinstance(listed, DenseElementsAttr) else []
        elif isinstance(op, ops.CollectivePermuteOp):
            transfers.append(_rows(op.source_target_pairs))
    return groups, transfers


def _ratios(sizes: Sequence[int], small: Sequence[int]) -> dict[int, int]:
    """Return the product of small sizes for each product of sizes, unless several sets of axes have that product."""
    found: dict[int, set[int]] = {}
    axes = [axis for axis, size in enumerate(sizes) if size > 1]
    for count in range(len(axes) + 1):
        for chosen in combinations(axes, count):
            found.setdefault(prod(sizes[axis] for axis in chosen), set()).add(prod(small[axis] for axis in chosen))
    return {before: after.pop() for before, after in found.items() if len(after) == 1}


@dataclass(frozen=True, eq=False)
class _Devices:
    """The devices of the original mesh, as coordinates. Layers repeat groups, which are computed once."""

    sizes: tuple[int, ...]
    small: tuple[int, ...]
    coordinates: IntArray
    _found: dict[Rows, tuple[Rows, GroupSize] | None] = field(default_factory=lambda: {}, init=False)

    @cached_property
    def kept(self) -> Mapping[int, int]:
        """The new number of each device that stays."""
        inside = np.flatnonzero((self.coordinates < np.array(self.small)).all(axis=1))
        return {int(device): number for number, device in enumerate(inside)}

    def rows(self, rows: Rows) -> tuple[Rows, GroupSize] | None:
        """Return what `_rows_that_stay` returns; it is computed once for equal groups."""
        if rows not in self._found:
            self._found[rows] = self._rows_that_stay(rows)
        return self._found[rows]

    def _rows_that_stay(self, rows: Rows) -> tuple[Rows, GroupSize] | None:
        """Return the groups of the devices that stay, and the sizes of groups.

        Return None unless the groups hold each device once and are whole axes, the same ones in the same order.
        """
        if sorted(device for row in rows for device in row) != list(range(len(self.coordinates))):
            return None
        first = self.coordinates[list(rows[0])]
        axes = np.flatnonzero((first != first[0]).any(axis=0))
        before, after = (prod(of[axis] for axis in axes) for of in (self.sizes, self.small))
        if before != len(rows[0]):
            return None
        found: list[tuple[int, ...]] = []
        kept, sizes = self.kept, set[GroupSize]()
        for row in rows:
            inside = self.coordinates[list(row)]
            others = np.delete(inside, axes, axis=1)
            if (others != others[0]).any() or not np.array_equal(inside[:, axes], first[:, axes]):
                return None
            positions = tuple(position for position, device in enumerate(row) if device in kept)
            if positions:
                sizes.add((before, after, positions))
                found.append(tuple(kept[row[position]] for position in positions))
        return (tuple(found), sizes.pop()) if len(sizes) == 1 else None

    def pairs(self, rows: Rows) -> Rows | None:
        """Return the transfers between devices that stay.

        Return None unless every device sends to the one with its coordinates in another order of the axes; a device
        that would send to itself may be left out.
        """
        kept, targets = self.kept, {source: target for source, target in rows}  # noqa: C416 pairs of any length
        after = np.array([targets.get(device, device) for device in range(len(self.coordinates))])
        orders = permutations(range(len(self.sizes)))
        if len(targets) != len(rows) or not any(self._is_order(order, after) for order in orders):
            return None
        return tuple((kept[source], kept[target]) for source, target in rows if source in kept and target in kept)

    def _is_order(self, order: Sequence[int], targets: IntArray) -> bool:
        """Return whether each device sends to the one with its coordinates in this order of the axes."""
        return bool((self.coordinates[targets] == self.coordinates[:, list(order)]).all())

    def marks(self, numbers: IntArray) -> Table | None:
        """Return which devices that stay are marked; None unless it depends on which coordinates are 0."""
        first = np.ravel_multi_index(tuple(np.minimum(self.coordinates, 1).T), self.sizes)
        if (numbers != numbers[first]).any():
            return None
        return Table(tuple(numbers[list(self.kept)].tolist()), 0, 0, 0)

    def table(self, numbers: IntArray) -> Table | None:
        """Return offsets of shards for the devices that stay; None if the numbers are not such offsets."""
        extent = gcd(*numbers.tolist())
        if extent == 0 or (numbers < 0).any():
            return None
        index = numbers // extent
        units = np.eye(len(self.sizes), dtype=np.int64)
        strides = [
            int(index[np.ravel_multi_index(unit, self.sizes)]) if size > 1 else 0
            for unit, size in zip(units, self.sizes, strict=True)
        ]
        if (self.coordinates @ np.array(strides) != index).any():
            return None
        before = after = 1
        smaller = [0] * len(strides)
        for axis in sorted((axis for axis, stride in enumerate(strides) if stride), key=lambda axis: strides[axis]):
            if strides[axis] != before:
                return None
            smaller[axis] = after
            before, after = before * self.sizes[axis], after * self.small[axis]
        offsets = self.coordinates[list(self.kept)] @ np.array(smaller) * extent
        return Table(tuple(offsets.tolist()), extent, before, after)


def _add(op: Operation, devices: _Devices, found: SmallerMesh) -> bool:
    """Add what changes in an op; return False if the op distinguishes further devices."""
    if ops.is_grouped(op):
        groups = op.properties["replica_groups"]
        rows = _rows(groups) if isinstance(groups, DenseElementsAttr) else ()
        smaller = devices.rows(rows) if rows else None
        if smaller is None:
            return False
        found.groups[op], found.sizes[op] = smaller
    elif isinstance(op, ops.CollectivePermuteOp):
        pairs = devices.pairs(_rows(op.source_target_pairs))
        if not pairs:
            return False
        found.groups[op] = pairs
    elif isinstance(op, ops.ReplicaIdOp | ops.SendOp | ops.RecvOp):
        return False
    elif isinstance(op, ops.PartitionIdOp):
        return _add_tables(op, devices, found)
    return True


def _add_tables(op: Operation, devices: _Devices, found: SmallerMesh) -> bool:
    """Add the tables that a device looks up by its number; return False if it is used for anything else."""
    for use in op.results[0].uses:
        user = use.operation
        if isinstance(user, ConvertOp):
            if not _add_tables(user, devices, found):
                return False
            continue
        table = user.operands[0].owner
        if not isinstance(user, DynamicSliceOp) or use.index != 1 or not isinstance(table, ConstantOp):
            return False
        if table not in found.tables:
            numbers = np.array(table.value.get_values())
            is_of_devices = all(_is_lookup_by_number(each) for each in table.results[0].uses)
            if numbers.shape != (len(devices.coordinates),) or not is_of_devices:
                return False
            is_mark = table.value.data.codec.bit_width == 1
            offsets = devices.marks(numbers) if is_mark else devices.table(numbers)
            if offsets is None:
                return False
            found.tables[table] = offsets
    return True


def _is_lookup_by_number(use: Use) -> bool:
    """Return whether a table is used for what a device looks up by its number."""
    if not isinstance(use.operation, DynamicSliceOp) or use.index != 0:
        return False
    number = use.operation.operands[1].owner
    while isinstance(number, ConvertOp):
        number = number.operands[0].owner
    return isinstance(number, ops.PartitionIdOp)


def _rows(table: DenseElementsAttr) -> Rows:
    numbers, width = table.get_ints(), table.type.get_shape()[-1]
    return tuple(tuple(numbers[start : start + width]) for start in range(0, len(numbers), width))
