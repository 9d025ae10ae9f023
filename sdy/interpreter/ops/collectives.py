"""Kernels of the collectives, of point-to-point transfers, and of the ops that return device numbers.

The devices of a collective are named by replica groups, by pairs, or by the axes of a mesh.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import located
from sdy.dialects.meshes import visible_meshes
from sdy.dialects.stablehlo import collectives as ops
from sdy.dialects.stablehlo.attributes.attrs import has_channel
from sdy.dialects.stablehlo.attributes.replica_groups import HloMeshAttr, ReplicaGroupMeshAxes, ReplicaGroupMeshAxesAttr
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.interpreter.arrays.element_types import Array, dtype_of_type
from sdy.interpreter.arrays.field_types import is_field
from sdy.interpreter.arrays.literals import array_of
from sdy.interpreter.devices.grid import Grid, IntArray, positions_by_id
from sdy.interpreter.devices.replica_groups import (
    GroupingStrategy,
    GroupLayout,
    IndexGroups,
    ReplicaGroups,
    Rows,
    device_groups,
    layout_of,
    layouts_of,
)
from sdy.interpreter.failure import failure
from sdy.interpreter.field.folds import FieldFold
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, field_of, operand_count, uniform
from sdy.interpreter.ops.reduction import FOLDS, Reducer
from sdy.model.axis_on_mesh import replica_groups
from sdy.model.checks.check_mesh import check_group_axes
from sdy.model.mesh import Mesh


def groups_of(op: ops.GroupedOp) -> ReplicaGroups:
    """Return the groups of a collective op. Raises: SdyError SDY-X004 if it names an undefined mesh."""
    if isinstance(op.replica_groups, ReplicaGroupMeshAxesAttr):
        return ReplicaGroups(_rows_of_axes(op, op.replica_groups.data), GroupingStrategy.FLATTENED_IDS)
    return ReplicaGroups(_rows(op.replica_groups), _strategy_of(op))


def groups_in(root: Operation) -> Iterator[ReplicaGroups]:
    """Yield the groups of all collective ops inside `root`."""
    for op in root.walk():
        if ops.is_grouped(op):
            try:
                yield groups_of(op)
            except SdyError as error:
                raise located(error, op) from error


def transfers_of(op: ops.CollectivePermuteOp) -> ReplicaGroups:
    """Return the (source, target) pairs as groups of two."""
    strategy = GroupingStrategy.CROSS_PARTITION if has_channel(op) else GroupingStrategy.CROSS_REPLICA
    return ReplicaGroups(_rows(op.source_target_pairs), strategy)


def _rows(table: DenseElementsAttr) -> Rows:
    return tuple(tuple(row) for row in array_of(table.data).tolist() if row)


def _strategy_of(op: ops.GroupedOp) -> GroupingStrategy:
    match op:
        case ops.CrossReplicaSumOp():
            return GroupingStrategy.CROSS_REPLICA
        case ops.AllToAllOp() | ops.CollectiveBroadcastOp() | ops.CollectiveReduceOp():
            return GroupingStrategy.CROSS_PARTITION if has_channel(op) else GroupingStrategy.CROSS_REPLICA
        case _:
            if op.use_global_device_ids is not None:
                return GroupingStrategy.FLATTENED_IDS
            return GroupingStrategy.CROSS_REPLICA_AND_PARTITION if has_channel(op) else GroupingStrategy.CROSS_REPLICA


def _rows_of_axes(op: Operation, groups: ReplicaGroupMeshAxes) -> Rows:
    """Return groups of devices that differ along these axes only, in the order of the axes."""
    mesh = _mesh_of(op, groups)
    problem = check_group_axes(groups.axes, mesh)
    if problem is not None:
        raise failure("SDY-X009", f"replica_groups: {problem.message}")
    return replica_groups(groups.axes, mesh)


def _mesh_of(op: Operation, groups: ReplicaGroupMeshAxes) -> Mesh:
    if isinstance(groups.mesh, HloMeshAttr):
        ids = groups.mesh.data.device_ids
        return Mesh(groups.mesh.data.axes, () if ids is None else ids.get_ints())
    name = groups.mesh.string_value() if isinstance(groups.mesh, SymbolRefAttr) else str(groups.mesh)
    mesh = visible_meshes(op).get(name)
    if mesh is None:
        raise failure("SDY-X004", f"mesh @{name} is not defined", hint="define it with sdy.mesh")
    return mesh


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


KERNELS = KernelTable()


@KERNELS.of(ops.AllGatherOp)
def all_gather(op: ops.AllGatherOp) -> Kernel:
    """Concatenate the operands of each group along a dim, in group order."""
    groups, dim = groups_of(op), op.all_gather_dim.value.data

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        layout = layout_of(groups, grid_of_devices(context))
        for operand, result in zip(op.inputs, op.result, strict=True):
            _check_group_size(layout, operand, result, dim)
        return tuple(
            layout.to_all_members(_concatenated(layout, layout.gather_members(array), dim)) for array in arrays
        )

    return kernel


def _check_group_size(layout: GroupLayout, shard: SSAValue, total: SSAValue, dim: int) -> None:
    """Raise SDY-X009 unless `dim` of `total` is that of `shard` times the number of devices in a group."""
    size, expected = shape_of(shard)[dim], shape_of(total)[dim]
    if DYNAMIC_INDEX not in (size, expected) and size * layout.size != expected:
        required = f"dim {dim} of {total.type} must be {size * layout.size}"
        raise failure("SDY-X009", f"{required}, {size} on each of the {layout.size} devices of a group, got {expected}")


def _concatenated(layout: GroupLayout, members: Array, dim: int) -> Array:
    """Return the tensors of the members of each group, concatenated along `dim`."""
    array_dim = layout.group_rank + dim
    return _merged(np.moveaxis(members, layout.group_rank, array_dim), array_dim)


def _merged(array: Array, dim: int) -> Array:
    """Return the array with `dim` and the next dim merged."""
    size = array.shape[dim] * array.shape[dim + 1]
    return array.reshape((*array.shape[:dim], size, *array.shape[dim + 2 :]))


def _split(array: Array, dim: int, count: int) -> Array:
    """Return the array with `dim` split into `count` blocks, which a new dim at its position numbers."""
    if array.shape[dim] % count:
        raise failure("SDY-X009", f"a dim of size {array.shape[dim]} cannot be split into {count} equal parts")
    return array.reshape((*array.shape[:dim], count, array.shape[dim] // count, *array.shape[dim + 1 :]))


@KERNELS.of(ops.AllReduceOp)
def all_reduce(op: ops.AllReduceOp) -> Kernel:
    """Reduce the operands of each group elementwise by the computation; every member gets the result."""
    groups, reducer, count = groups_of(op), Reducer(op.computation.block), operand_count(op)

    def reduced(context: KernelContext, array: Array, captured: Arrays) -> Array:
        layouts = layouts_of(groups, grid_of_devices(context))
        parts = [_reduced(context, layout, reducer, array, captured) for layout in layouts]
        result = layouts[0].to_all_members(parts[0])
        for layout, part in zip(layouts[1:], parts[1:], strict=True):
            is_here = layout.covered() if isinstance(layout, IndexGroups) else np.ones((), np.bool_)
            is_here = is_here.reshape(is_here.shape + (1,) * (result.ndim - is_here.ndim))
            result = np.where(is_here, layout.to_all_members(part), result)
        return result

    return lambda context, arrays: tuple(reduced(context, array, arrays[count:]) for array in arrays[:count])


def _reduced(context: KernelContext, layout: GroupLayout, reducer: Reducer, array: Array, captured: Arrays) -> Array:
    """Return the tensors of each group reduced to one."""
    members = layout.gather_members(array)
    inner = replace(context, batch=members.shape[: layout.group_rank], grid=None)
    outer = tuple(
        inner.replicated(uniform(context, value, "a value that the reduction captures")) for value in captured
    )
    return reducer.folded(inner, (members,), (0,), outer)[0]


@KERNELS.of(ops.CrossReplicaSumOp)
def cross_replica_sum(op: ops.CrossReplicaSumOp) -> Kernel:
    """Sum over each group of replicas."""
    groups = groups_of(op)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        layout = layout_of(groups, grid_of_devices(context))
        members = layout.gather_members(arrays[0])
        fold = FieldFold(field_of(context), AddOp) if is_field(members.dtype) else FOLDS[AddOp]
        return (layout.to_all_members(fold.reduced(members, (layout.group_rank,))),)

    return kernel


@KERNELS.of(ops.ReduceScatterOp)
def reduce_scatter(op: ops.ReduceScatterOp) -> Kernel:
    """Reduce as `all_reduce` does; member i of a group keeps block i along a dim."""
    groups, reducer = groups_of(op), Reducer(op.computation.block)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        layout = layout_of(groups, grid_of_devices(context))
        return (scattered(op, layout, _reduced(context, layout, reducer, arrays[0], arrays[1:])),)

    return kernel


def scattered(op: ops.ReduceScatterOp, layout: GroupLayout, total: Array) -> Array:
    """Return the blocks of `total`, which has one tensor per group, each on the member that keeps it."""
    dim = op.scatter_dimension.value.data
    _check_group_size(layout, op.result, op.operand, dim)
    parts = _split(total, layout.group_rank + dim, layout.size)
    return layout.to_each_member(np.moveaxis(parts, layout.group_rank + dim, layout.group_rank))


@KERNELS.of(ops.AllToAllOp)
def all_to_all(op: ops.AllToAllOp) -> Kernel:
    """Send block i along the split dim to member i, which concatenates along the concat dim in group order."""
    groups, split, concat = groups_of(op), op.split_dimension.value.data, op.concat_dimension.value.data

    def exchanged(context: KernelContext, array: Array) -> Array:
        layout = layout_of(groups, grid_of_devices(context))
        members = layout.gather_members(array)
        rank = layout.group_rank
        parts = np.moveaxis(_split(members, rank + 1 + split, layout.size), rank + 1 + split, rank)
        # Dims: groups, receiver, sender, tensor. The blocks of all senders are concatenated.
        moved = np.moveaxis(parts, rank + 1, rank + 1 + concat)
        return layout.to_each_member(_merged(moved, rank + 1 + concat))

    return lambda context, arrays: tuple(exchanged(context, array) for array in arrays)


@KERNELS.of(ops.CollectiveReduceOp)
def collective_reduce(op: ops.CollectiveReduceOp) -> Kernel:
    """Reduce as `all_reduce` does; only the first device of a group gets the result, the others get zeros."""
    groups, reducer = groups_of(op), Reducer(op.computation.block)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        layout = layout_of(groups, grid_of_devices(context))
        total = _reduced(context, layout, reducer, arrays[0], arrays[1:])
        rank = layout.group_rank
        by_member = np.zeros((*total.shape[:rank], layout.size, *total.shape[rank:]), total.dtype)
        by_member[(slice(None),) * rank + (0,)] = total
        return (layout.to_each_member(by_member),)

    return kernel


@KERNELS.of(ops.CollectivePermuteOp)
def collective_permute(op: ops.CollectivePermuteOp) -> Kernel:
    """Send the operand of each pair's source to its target; a device that is not a target gets zeros."""
    transfers = transfers_of(op)
    return lambda context, arrays: (received(arrays[0], sources_of_pairs(transfers, grid_of_devices(context))),)


@KERNELS.of(ops.CollectiveBroadcastOp)
def collective_broadcast(op: ops.CollectiveBroadcastOp) -> Kernel:
    """Send the operands of one device of a group to all of its devices; a device in no group gets zeros."""
    groups, count = groups_of(op), len(op.result)
    is_dynamic = op.has_dynamic_root is not None

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        grid = grid_of_devices(context)
        if not is_dynamic:
            return tuple(received(array, sources_of_broadcast(groups, grid, 0)) for array in arrays[:count])
        roots = [int(root) for root in uniform(context, arrays[count], "the root of a broadcast")]
        sources = (sources_of_broadcast(groups, grid, root) for root in roots)
        return tuple(received(array, each) for array, each in zip(arrays[:count], sources, strict=True))

    return kernel


@KERNELS.of(ops.PartitionIdOp)
def partition_id(op: ops.PartitionIdOp) -> Kernel:
    """Return the number of the partition within its replica."""
    dtype = dtype_of_type(op.result.type)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        grid = grid_of_devices(context)
        return ((grid.ids % grid.partition_count).reshape(grid.sizes).astype(dtype),)

    return kernel


@KERNELS.of(ops.ReplicaIdOp)
def replica_id(op: ops.ReplicaIdOp) -> Kernel:
    """Return the number of the replica."""
    dtype = dtype_of_type(op.result.type)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        grid = grid_of_devices(context)
        if grid.replica_count == 1:
            return (context.replicated(np.zeros((), dtype)),)
        return ((grid.ids // grid.partition_count).reshape(grid.sizes).astype(dtype),)

    return kernel


def grid_of_devices(context: KernelContext) -> Grid:
    """Return the grid of devices. Raises: SdyError SDY-X010 inside the body of a reduction, which has none."""
    if context.grid is None:
        raise failure("SDY-X010", "devices cannot communicate inside a region that is applied to elements")
    return context.grid
