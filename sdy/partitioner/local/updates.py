"""Local form of `dynamic_update_slice`: of an unsharded update, each device writes what is in its shard.

It writes its own elements elsewhere, so that the shard is updated in place.
Source: docs/spec/06, 8.1 (G4).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import elementwise, slicing
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.partitioner.emit.device_position import shard_offset
from sdy.partitioner.emit.emitter import Emitter, tensor_of
from sdy.partitioner.emit.sharded_emitter import zero_scalar
from sdy.partitioner.emit.slices import clamped_start, slice_at
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards

FORMS = OpTable[LocalForm]()


@FORMS.of(slicing.DynamicUpdateSliceOp)
@of_shards
def dynamic_update_slice(op: slicing.DynamicUpdateSliceOp, lowering: Lowering) -> None:
    """Update the shard; along sharded dims that are updated partially, write the part of the update that is in it."""
    global_shape, update = lowering.global_shape(op.operand), lowering.global_shape(op.update)
    counts = lowering.shardings.shard_counts(op.operand)
    partial_dims = [dim for dim, count in enumerate(counts) if count > 1 and update[dim] != global_shape[dim]]
    if partial_dims:
        lowering.replace(op, _updated(lowering, op, global_shape, partial_dims))
    else:
        lowering.make_local(op.result, op)


def _updated(
    lowering: Lowering, op: slicing.DynamicUpdateSliceOp, global_shape: Sequence[int], partial_dims: Sequence[int]
) -> SSAValue:
    """Update a window of the shard by the elements of the update that are in it, and by its own others."""
    emit = lowering.emitter(op)
    local, update = shape_of(op.operand), shape_of(op.update)
    window = [min(sizes) for sizes in zip(local, update, strict=True)]
    starts: list[SSAValue] = []
    firsts: dict[int, SSAValue] = {}
    for dim, start in enumerate(op.start_indices):
        # An update that covers a sharded dim is sharded as well, so its local size does not limit the start.
        last = 0 if lowering.shardings.shard_count(op.update, dim) > 1 else global_shape[dim] - update[dim]
        own_start = clamped_start(emit, start, last)
        if dim in partial_dims:
            axes, mesh = lowering.shardings.dim_axes(op.operand, dim), lowering.shardings.mesh_of(op.operand).mesh
            wanted = emit.binary(elementwise.SubtractOp, own_start, shard_offset(emit, axes, mesh, local[dim]))
            own_start = emit.clamp(emit.index(0), wanted, emit.index(local[dim] - window[dim]))
            firsts[dim] = emit.binary(elementwise.SubtractOp, own_start, wanted)
        starts.append(own_start)
    own = slice_at(emit, op.operand, starts, window)
    written = emit.select(_is_updated(emit, own, update, firsts), _update_at(emit, op.update, window, firsts), own)
    return emit.value(slicing.DynamicUpdateSliceOp, [op.operand, written, *starts], op.operand.type)


def _update_at(emit: Emitter, update: SSAValue, window: Sequence[int], firsts: dict[int, SSAValue]) -> SSAValue:
    """Return the elements of an update from `firsts` on, which may be outside of it by the size of the window."""
    margin = [size if dim in firsts else 0 for dim, size in enumerate(window)]
    if all(shape_of(update)[dim] == 1 for dim in firsts):
        return update
    starts = [emit.index(0)] * len(window)
    for dim, first in firsts.items():
        starts[dim] = emit.binary(elementwise.AddOp, first, emit.index(window[dim]))
    return slice_at(emit, emit.pad(update, zero_scalar(emit, update), margin, margin), starts, window)


def _is_updated(emit: Emitter, own: SSAValue, update: Sequence[int], firsts: dict[int, SSAValue]) -> SSAValue:
    """Return a mask of the elements of a window whose positions, from `firsts` on, are in the update."""
    masks: list[SSAValue] = []
    for dim, first in firsts.items():
        numbers = TensorType(i64, [shape_of(own)[dim]])
        position = emit.broadcast(first, numbers)
        if shape_of(own)[dim] > 1:
            position = emit.binary(elementwise.AddOp, emit.iota(numbers), position)
        zero, last = emit.constant(numbers, [0]), update[dim] - 1
        nearest = emit.clamp(zero, position, emit.constant(numbers, [last])) if last else zero
        is_in_update = emit.compare(ComparisonDirection.EQ, position, nearest)
        masks.append(emit.broadcast(is_in_update, tensor_of(own), [dim]))
    return emit.all_of(masks)
