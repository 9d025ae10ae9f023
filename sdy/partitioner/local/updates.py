"""Local form of `dynamic_update_slice`: of an unsharded update, each device writes what is in its shard.

Source: docs/spec/06, 8.1 (G4).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import elementwise, slicing
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.partitioner.emit.device_position import shard_offset
from sdy.partitioner.emit.emitter import Emitter, tensor_of
from sdy.partitioner.emit.sharded_emitter import zero_scalar
from sdy.partitioner.local.lowering import LocalForm, Lowering, of_shards
from sdy.partitioner.on_shards.combiners import index_bounds

FORMS = OpTable[LocalForm]()


@FORMS.of(slicing.DynamicUpdateSliceOp)
@of_shards
def dynamic_update_slice(op: slicing.DynamicUpdateSliceOp, lowering: Lowering) -> None:
    """Update the shard; along sharded dims that are updated partially, pad it by the update's size on both sides."""
    global_shape, update = lowering.global_shape(op.operand), lowering.global_shape(op.update)
    counts = lowering.shardings.shard_counts(op.operand)
    partial_dims = [dim for dim, count in enumerate(counts) if count > 1 and update[dim] != global_shape[dim]]
    if partial_dims:
        lowering.replace(op, _update_with_margin(lowering, op, global_shape, partial_dims))
    else:
        lowering.make_local(op.result, op)


def _update_with_margin(
    lowering: Lowering, op: slicing.DynamicUpdateSliceOp, global_shape: Sequence[int], partial_dims: Sequence[int]
) -> SSAValue:
    emit = lowering.emitter(op)
    local, update = shape_of(op.operand), shape_of(op.update)
    margin = [size if dim in partial_dims else 0 for dim, size in enumerate(update)]
    filler = zero_scalar(emit, op.operand)
    padded = emit.pad(op.operand, filler, margin, margin)
    starts: list[SSAValue] = []
    for dim, start in enumerate(op.start_indices):
        # An update that covers a sharded dim is sharded as well, so its local size does not limit the start.
        last = 0 if lowering.shardings.shard_count(op.update, dim) > 1 else global_shape[dim] - update[dim]
        global_start = _clamped(emit, start, last)
        if dim in partial_dims:
            global_start = _start_in_padded_shard(emit, lowering, op.operand, dim, global_start, margin[dim])
        starts.append(global_start)
    result = emit.value(slicing.DynamicUpdateSliceOp, [padded, op.update, *starts], padded.type)
    limits = [size + before for size, before in zip(local, margin, strict=True)]
    return emit.slice(result, margin, limits)


def _clamped(emit: Emitter, start: SSAValue, last: int) -> SSAValue:
    """Clamp a start index as StableHLO does, so that the update fits, and convert it to `tensor<i64>`."""
    _, largest = index_bounds(tensor_of(start).element_type)
    low = emit.constant(tensor_of(start), [0])
    high = emit.constant(tensor_of(start), [min(last, largest)])
    return emit.convert(emit.clamp(low, start, high), i64)


def _start_in_padded_shard(
    emit: Emitter, lowering: Lowering, operand: SSAValue, dim: int, start: SSAValue, margin: int
) -> SSAValue:
    """Return the start of the update in the padded shard; an update of another shard is clamped into the padding."""
    local = shape_of(operand)[dim]
    axes, mesh = lowering.shardings.dim_axes(operand, dim), lowering.shardings.mesh_of(operand).mesh
    offset = shard_offset(emit, axes, mesh, local)
    local_start = emit.binary(elementwise.AddOp, emit.binary(elementwise.SubtractOp, start, offset), emit.index(margin))
    return emit.clamp(emit.index(0), local_start, emit.index(local + margin))
