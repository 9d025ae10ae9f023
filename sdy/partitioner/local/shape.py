"""Constants, counters and layout changes on one shard. Source: spec of local lowering, sections 1.12 and 1.13."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import Attribute, SSAValue

from sdy.dialects.dense import DenseElementsAttr
from sdy.dialects.op_table import OpTable
from sdy.dialects.sdy.ops import ConstantOp as ShardedConstantOp
from sdy.dialects.stablehlo import elementwise
from sdy.dialects.stablehlo import shape as ops
from sdy.partitioner.local.emitter import Emitter, Tensor, shape_of
from sdy.partitioner.local.lowering import LocalForm, Lowering

FORMS = OpTable[LocalForm]()


@FORMS.of(ShardedConstantOp, ops.ConstantOp)
def constant(op: ShardedConstantOp | ops.ConstantOp) -> LocalForm:
    """A splat shrinks; of anything else each device takes its part out of the whole."""

    def lower(lowering: Lowering) -> None:
        result = op.results[0]
        sharding = lowering.sharding(result)
        local = cast(Tensor, lowering.local_type(result.type, sharding, op))
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
        if sharding is None or not lowering.is_cut(op.output):
            return
        local = cast(Tensor, lowering.local_type(op.output.type, sharding, op))
        emit = lowering.emitter(op)
        dim = op.iota_dimension.value.data
        counted = emit.value(ops.IotaOp, [], local, {"iota_dimension": op.iota_dimension})
        axes = sharding.dims[dim].axes
        if axes:
            start = emit.offset(axes, lowering.mesh(sharding), local.get_shape()[dim])
            counted = emit.value(elementwise.AddOp, [counted, _spread(emit, start, local)], local)
        lowering.replace(op, counted)

    return lower


def _spread(emit: Emitter, scalar: SSAValue, tensor: Tensor) -> SSAValue:
    """`scalar`, a `tensor<i64>`, converted to the element type of `tensor` and repeated to its shape."""
    assert shape_of(scalar) == ()
    element_type: Attribute = tensor.element_type
    converted = emit.value(elementwise.ConvertOp, [scalar], TensorType(element_type, []))
    nowhere = {"broadcast_dimensions": DenseArrayBase.from_list(i64, [])}
    return emit.value(ops.BroadcastInDimOp, [converted], tensor, {**nowhere})
