"""Constants, counters and layout changes on one shard.

Source: docs/spec/06, 1.12, 1.13, 3.5 and 8.1 (G6, G9).
"""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import ConstantOp as ShardedConstantOp
from sdy.dialects.stablehlo import elementwise
from sdy.dialects.stablehlo import shape as ops
from sdy.dialects.stablehlo.attributes.types import AnyTensor, shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.model.devices.device_shifts import mesh_reversed_along
from sdy.model.equivalence import is_equivalent_across_reshape
from sdy.partitioner.emit.emitter import Emitter, ints, tensor_of
from sdy.partitioner.local.lowering import Check, LocalForm, Lowering
from sdy.partitioner.on_shards.agreement import ShardedLayout, same_layout

FORMS = OpTable[LocalForm]()
CHECKS = OpTable[Check]()


@CHECKS.of(ShardedConstantOp, ops.ConstantOp, ops.IotaOp, ops.GetDimensionSizeOp)
def every_cut_is_fine(op: Operation) -> Check:
    """Each device can make its part, or knows it."""
    del op
    return lambda _: None


@CHECKS.of(ops.ReverseOp)
def reverses_shards(op: ops.ReverseOp) -> Check:
    """Each device reverses its shard, where the result says that the shards themselves are in reverse order."""

    def check(lowering: Lowering) -> None:
        before, after = (lowering.layout(lowering.sharding(value)) for value in (op.operand, op.result))
        axes = tuple(ref for dim in ints_of(op.dimensions) for ref in lowering.dim_axes(op.operand, dim))
        if before is not None and axes:
            mirrored = ShardedLayout(before.sharding, mesh_reversed_along(axes, before.mesh))
            if same_layout(mirrored, after):
                return
        lowering.check_agreement(op)

    return check


@CHECKS.of(ops.ReshapeOp)
def keeps_elements_in_place(op: ops.ReshapeOp) -> Check:
    """Operand and result put every element on the same devices: by their axes, or by the rule."""

    def check(lowering: Lowering) -> None:
        before, after = lowering.sharding(op.operand), lowering.sharding(op.result)
        is_alike = (
            before is not None
            and after is not None
            and is_equivalent_across_reshape(
                before, shape_of(op.operand), after, shape_of(op.result), lowering.mesh(before)
            )
        )
        if not is_alike:
            lowering.check_agreement(op)

    return check


@FORMS.of(ShardedConstantOp, ops.ConstantOp)
def constant(op: ShardedConstantOp | ops.ConstantOp) -> LocalForm:
    """A splat shrinks; of anything else each device takes its part out of the whole."""

    def lower(lowering: Lowering) -> None:
        result = op.results[0]
        sharding = lowering.sharding(result)
        local = cast(AnyTensor, lowering.local_type(result.type, sharding, op))
        elements = op.value
        assert isinstance(elements, DenseElementsAttr)
        emit = lowering.emitter(op)
        if local == result.type:
            value = emit.constant_of(elements)
        elif elements.is_splat:
            value = emit.constant_of(DenseElementsAttr.from_bytes(local, elements.data.raw))
        else:
            assert sharding is not None
            axes = tuple(dim.axes for dim in sharding.dims)
            value = emit.own_slice(emit.constant_of(elements), axes, lowering.mesh(sharding))
        lowering.replace(op, value)

    return lower


@FORMS.of(ops.IotaOp)
def iota(op: ops.IotaOp) -> LocalForm:
    """Counts within the shard; along a cut dim, from where the shard begins."""

    def lower(lowering: Lowering) -> None:
        sharding = lowering.sharding(op.output)
        if sharding is None or not lowering.is_sharded(op.output):
            return
        local = cast(AnyTensor, lowering.local_type(op.output.type, sharding, op))
        emit = lowering.emitter(op)
        dim = op.iota_dimension.value.data
        counted = emit.value(ops.IotaOp, [], local, {"iota_dimension": op.iota_dimension})
        axes = lowering.dim_axes(op.output, dim)
        if axes:
            start = emit.offset(axes, lowering.mesh(sharding), local.get_shape()[dim])
            counted = emit.value(elementwise.AddOp, [counted, _spread(emit, start, local)], local)
        lowering.replace(op, counted)

    return lower


def _spread(emit: Emitter, scalar: SSAValue, tensor: AnyTensor) -> SSAValue:
    """`scalar`, a `tensor<i64>`, converted to the element type of `tensor` and repeated to its shape."""
    return emit.broadcast(emit.convert(scalar, tensor.element_type), tensor)


@FORMS.of(ops.BroadcastOp)
def broadcast(op: ops.BroadcastOp) -> LocalForm:
    """As often as the new dims of the shard are long."""

    def lower(lowering: Lowering) -> None:
        lowering.make_local(op.result, op)
        op.broadcast_sizes = ints(shape_of(op.result)[: len(ints_of(op.broadcast_sizes))])

    return lower


@FORMS.of(ops.GetDimensionSizeOp)
def get_dimension_size(op: ops.GetDimensionSizeOp) -> LocalForm:
    """The size of the whole dim."""
    size = shape_of(op.operand)[op.dimension.value.data]

    def lower(lowering: Lowering) -> None:
        if lowering.is_sharded(op.operand):
            lowering.replace(op, lowering.emitter(op).constant(tensor_of(op.result), [size]))

    return lower
