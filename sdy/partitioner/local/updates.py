"""`dynamic_update_slice` on one shard: a whole update, of which each device writes what falls into its shard.

Source: docs/spec/06, 8.1 (G4).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import elementwise, slicing
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.partitioner.emit.emitter import Emitter, ints, tensor_of, with_shape
from sdy.partitioner.local.lowering import LocalForm, Lowering
from sdy.partitioner.on_shards.combiners import extreme

FORMS = OpTable[LocalForm]()


@FORMS.of(slicing.DynamicUpdateSliceOp)
def dynamic_update_slice(op: slicing.DynamicUpdateSliceOp) -> LocalForm:
    """Along dims that are cut and written in part, the shard is written with room for the update on both sides."""
    whole, update = shape_of(op.operand), shape_of(op.update)

    def lower(lowering: Lowering) -> None:
        written = [dim for dim in _cut_dims(lowering, op.operand) if update[dim] != whole[dim]]
        if written:
            lowering.replace(op, _written_with_room(lowering, op, whole, written))
        else:
            lowering.make_local(op.result, op)

    return lower


def _cut_dims(lowering: Lowering, value: SSAValue) -> list[int]:
    return [dim for dim in range(len(shape_of(value))) if lowering.shard_count(value, dim) > 1]


def _written_with_room(
    lowering: Lowering, op: slicing.DynamicUpdateSliceOp, whole: Sequence[int], written: Sequence[int]
) -> SSAValue:
    emit = lowering.emitter(op)
    local, update = shape_of(op.operand), shape_of(op.update)
    room = [size if dim in written else 0 for dim, size in enumerate(update)]
    filler = emit.constant(TensorType(tensor_of(op.operand).element_type, []), [0])
    roomy = emit.pad(op.operand, filler, room, room)
    starts: list[SSAValue] = []
    for dim, start in enumerate(op.start_indices):
        # An update of a cut dim that is written whole is cut as well: its size says nothing of the start.
        last = 0 if lowering.shard_count(op.update, dim) > 1 else whole[dim] - update[dim]
        begin = _clamped(emit, start, last)
        if dim in written:
            begin = _start_in_room(emit, lowering, op.operand, dim, begin, room[dim])
        starts.append(begin)
    result = emit.value(slicing.DynamicUpdateSliceOp, [roomy, op.update, *starts], roomy.type)
    limits = [size + before for size, before in zip(local, room, strict=True)]
    properties = {"start_indices": ints(room), "limit_indices": ints(limits), "strides": ints([1] * len(local))}
    return emit.value(slicing.SliceOp, [result], with_shape(result, local), dict(properties))


def _clamped(emit: Emitter, start: SSAValue, last: int) -> SSAValue:
    """A start as StableHLO moves it so that the update fits, as `tensor<i64>`."""
    largest = extreme(tensor_of(start).element_type, largest=True)
    assert isinstance(largest, int)  # indices are integers
    low = emit.constant(tensor_of(start), [0])
    high = emit.constant(tensor_of(start), [min(last, largest)])
    return emit.convert(emit.clamp(low, start, high), i64)


def _start_in_room(
    emit: Emitter, lowering: Lowering, operand: SSAValue, dim: int, start: SSAValue, room: int
) -> SSAValue:
    """Where the update begins in the shard with room on both sides; all in one of the rooms if it is elsewhere."""
    sharding = lowering.sharding(operand)
    assert sharding is not None  # cut
    local = shape_of(operand)[dim]
    offset = emit.offset(lowering.dim_axes(operand, dim), lowering.mesh(sharding), local)
    start_here = emit.binary(elementwise.AddOp, emit.binary(elementwise.SubtractOp, start, offset), emit.index(room))
    return emit.clamp(emit.index(0), start_here, emit.index(local + room))
