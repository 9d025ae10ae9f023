"""Sliding windows on one shard: pooling whose windows tile each shard, convolutions cut along batch and features.

Source: spec of local lowering, sections 1.16, 1.19 and 8.1 (G22).
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.op_table import OpTable
from sdy.dialects.places import span_of
from sdy.dialects.stablehlo import window as ops
from sdy.partitioner.local.emitter import shape_of
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering
from sdy.partitioner.shard_windows import PoolingOp, tiles_shards

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()


@CHECKS.of(ops.ReduceWindowOp, ops.SelectAndScatterOp)
def tiles(op: PoolingOp) -> Check:
    """All tensors are cut alike, and along a cut dim no window reaches into another shard."""
    tensors = [*op.inputs] if isinstance(op, ops.ReduceWindowOp) else [op.operand, op.source]

    def check(lowering: Lowering) -> None:
        if not any(lowering.is_cut(value) for value in (*tensors, *op.results)):
            return
        for value in tensors:
            lowering.check_handed_over(
                op, tuple(op.operands).index(value), lowering.sharding(op.results[0]), "its result"
            )
        for dim in range(len(shape_of(tensors[0]))):
            count = lowering.shard_count(tensors[0], dim)
            if not tiles_shards(op, dim, count):
                message = f"{op.name}: windows along dim {dim} of {tensors[0].type} reach over its {count} shards"
                hint = "reshard the operand so that the dim is whole on every device"
                raise SdyError(Diagnostic("SDY-L012", message, span_of(op), hint=hint))

    return check


@FORMS.of(ops.ConvolutionOp)
def convolution(op: ops.ConvolutionOp) -> LocalForm:
    """The same convolution with as many groups as the shard has."""
    numbers = op.dimension_numbers.data

    def lower(lowering: Lowering) -> None:
        for name, count, value, dim in (
            ("feature_group_count", op.feature_group_count, op.rhs, numbers.kernel_output_feature_dimension),
            ("batch_group_count", op.batch_group_count, op.lhs, numbers.input_batch_dimension),
        ):
            op.properties[name] = _own_groups(count, lowering.shard_count(value, dim))
        if any(lowering.is_cut(value) for value in (op.lhs, op.rhs, op.result)):
            op.attributes.clear()
        lowering.make_local(op.result, op)

    return lower


def _own_groups(groups: IntegerAttr, pieces: int) -> IntegerAttr:
    """How many groups one shard has, when a dim whose major part counts groups is cut into pieces."""
    count = groups.value.data
    return IntegerAttr(count // min(count, pieces), i64) if count > 1 else groups
