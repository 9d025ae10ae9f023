"""Kernels of the ops by which devices communicate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sdy.dialects.stablehlo import collectives as ops
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.interpreter.arrays.element_types import Array, dtype_of_type
from sdy.interpreter.devices.grid import Grid
from sdy.interpreter.devices.replica_groups import (
    GroupLayout,
    IndexGroups,
    layout_of,
    layouts_of,
)
from sdy.interpreter.devices.routes import route_from_root, route_of_pairs, sent
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, operand_count, uniform
from sdy.interpreter.ops.collective_groups import groups_of, transfers_of
from sdy.interpreter.ops.reducer import FOLDS, Reducer

KERNELS = KernelTable()


@KERNELS.of(ops.AllGatherOp)
def all_gather(op: ops.AllGatherOp) -> Kernel:
    """The operands of a group one after the other along a dim, in group order."""
    groups, dim = groups_of(op), op.all_gather_dim.value.data

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        layout = layout_of(groups, grid_of_devices(context))
        return tuple(layout.given_to_all(_glued(layout, layout.brought_together(array), dim)) for array in arrays)

    return kernel


def _glued(layout: GroupLayout, members: Array, dim: int) -> Array:
    """The tensors of the members of each group, one after the other along `dim`."""
    place = layout.group_rank + dim
    return _merged(np.moveaxis(members, layout.group_rank, place), place)


def _merged(array: Array, place: int) -> Array:
    """The array with dims `place` and the next one made one."""
    size = array.shape[place] * array.shape[place + 1]
    return array.reshape((*array.shape[:place], size, *array.shape[place + 2 :]))


def _cut(array: Array, place: int, count: int) -> Array:
    """The array with dim `place` cut into `count` parts, which come first along a new dim there."""
    if array.shape[place] % count:
        raise failure("SDY-X009", f"a dim of size {array.shape[place]} cannot be cut into {count} equal parts")
    return array.reshape((*array.shape[:place], count, array.shape[place] // count, *array.shape[place + 1 :]))


@KERNELS.of(ops.AllReduceOp)
def all_reduce(op: ops.AllReduceOp) -> Kernel:
    """The operands of a group folded elementwise by the computation; every member gets the result."""
    groups, reducer, count = groups_of(op), Reducer(op.computation.block), operand_count(op)

    def reduced(context: KernelContext, array: Array, captured: Arrays) -> Array:
        layouts = layouts_of(groups, grid_of_devices(context))
        parts = [_reduced(context, layout, reducer, array, captured) for layout in layouts]
        result = layouts[0].given_to_all(parts[0])
        for layout, part in zip(layouts[1:], parts[1:], strict=True):
            is_here = layout.covered() if isinstance(layout, IndexGroups) else np.ones((), np.bool_)
            is_here = is_here.reshape(is_here.shape + (1,) * (result.ndim - is_here.ndim))
            result = np.where(is_here, layout.given_to_all(part), result)
        return result

    return lambda context, arrays: tuple(reduced(context, array, arrays[count:]) for array in arrays[:count])


def _reduced(context: KernelContext, layout: GroupLayout, reducer: Reducer, array: Array, captured: Arrays) -> Array:
    """The tensors of each group folded to one."""
    members = layout.brought_together(array)
    inner = replace(context, batch=members.shape[: layout.group_rank], grid=None)
    outer = tuple(inner.replicated(uniform(context, value, "a value that the reduction uses")) for value in captured)
    return reducer.folded(inner, (members,), (0,), outer)[0]


@KERNELS.of(ops.CrossReplicaSumOp)
def cross_replica_sum(op: ops.CrossReplicaSumOp) -> Kernel:
    """The sum over a group of replicas."""
    groups = groups_of(op)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        layout = layout_of(groups, grid_of_devices(context))
        members = layout.brought_together(arrays[0])
        return (layout.given_to_all(FOLDS[AddOp].reduced(members, (layout.group_rank,))),)

    return kernel


@KERNELS.of(ops.ReduceScatterOp)
def reduce_scatter(op: ops.ReduceScatterOp) -> Kernel:
    """`all_reduce`, of which member i of the group keeps part i along a dim."""
    groups, reducer, dim = groups_of(op), Reducer(op.computation.block), op.scatter_dimension.value.data

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        layout = layout_of(groups, grid_of_devices(context))
        total = _reduced(context, layout, reducer, arrays[0], arrays[1:])
        parts = _cut(total, layout.group_rank + dim, layout.size)
        return (layout.given_to_each(np.moveaxis(parts, layout.group_rank + dim, layout.group_rank)),)

    return kernel


@KERNELS.of(ops.AllToAllOp)
def all_to_all(op: ops.AllToAllOp) -> Kernel:
    """Member i gets part i along the split dim from every member, glued along the concat dim in group order."""
    groups, split, concat = groups_of(op), op.split_dimension.value.data, op.concat_dimension.value.data

    def exchanged(context: KernelContext, array: Array) -> Array:
        layout = layout_of(groups, grid_of_devices(context))
        members = layout.brought_together(array)
        rank = layout.group_rank
        parts = np.moveaxis(_cut(members, rank + 1 + split, layout.size), rank + 1 + split, rank)
        # Now: groups, receiver, sender, tensor. Senders are glued, receivers are the members.
        moved = np.moveaxis(parts, rank + 1, rank + 1 + concat)
        return layout.given_to_each(_merged(moved, rank + 1 + concat))

    return lambda context, arrays: tuple(exchanged(context, array) for array in arrays)


@KERNELS.of(ops.CollectiveReduceOp)
def collective_reduce(op: ops.CollectiveReduceOp) -> Kernel:
    """`all_reduce` of which only the first device of a group gets the result; the others get zeros."""
    groups, reducer = groups_of(op), Reducer(op.computation.block)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        layout = layout_of(groups, grid_of_devices(context))
        total = _reduced(context, layout, reducer, arrays[0], arrays[1:])
        rank = layout.group_rank
        by_member = np.zeros((*total.shape[:rank], layout.size, *total.shape[rank:]), total.dtype)
        by_member[(slice(None),) * rank + (0,)] = total
        return (layout.given_to_each(by_member),)

    return kernel


@KERNELS.of(ops.CollectivePermuteOp)
def collective_permute(op: ops.CollectivePermuteOp) -> Kernel:
    """The operand of the source of each pair, at its target; zeros where a device is nobody's target."""
    transfers = transfers_of(op)
    return lambda context, arrays: (sent(arrays[0], route_of_pairs(transfers, grid_of_devices(context))),)


@KERNELS.of(ops.CollectiveBroadcastOp)
def collective_broadcast(op: ops.CollectiveBroadcastOp) -> Kernel:
    """The operands of one device of a group at all of its devices; zeros at a device of no group."""
    groups, count = groups_of(op), len(op.result)
    is_dynamic = op.has_dynamic_root is not None

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        grid = grid_of_devices(context)
        if not is_dynamic:
            return tuple(sent(array, route_from_root(groups, grid, 0)) for array in arrays[:count])
        roots = [int(place) for place in uniform(context, arrays[count], "the root of a broadcast")]
        routes = (route_from_root(groups, grid, place) for place in roots)
        return tuple(sent(array, route) for array, route in zip(arrays[:count], routes, strict=True))

    return kernel


@KERNELS.of(ops.PartitionIdOp)
def partition_id(op: ops.PartitionIdOp) -> Kernel:
    """The number of the partition within its replica."""
    dtype = dtype_of_type(op.result.type)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        grid = grid_of_devices(context)
        return ((grid.ids % grid.partition_count).reshape(grid.sizes).astype(dtype),)

    return kernel


@KERNELS.of(ops.ReplicaIdOp)
def replica_id(op: ops.ReplicaIdOp) -> Kernel:
    """The number of the replica."""
    dtype = dtype_of_type(op.result.type)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        grid = grid_of_devices(context)
        if grid.replica_count == 1:
            return (context.replicated(np.zeros((), dtype)),)
        return ((grid.ids // grid.partition_count).reshape(grid.sizes).astype(dtype),)

    return kernel


def grid_of_devices(context: KernelContext) -> Grid:
    """The devices. Raises: SdyError SDY-X010 within the body of a reduction, where there are none."""
    if context.grid is None:
        raise failure("SDY-X010", "devices cannot communicate within a region that is applied to elements")
    return context.grid
