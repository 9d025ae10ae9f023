"""`reduce` on one shard: the initial value counts on one device only of those that the result is combined from.

Source: spec of local lowering, section 8.1 (G15).
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from sdy.dialects.dense import DenseElementsAttr
from sdy.dialects.elements import Scalar
from sdy.dialects.op_table import OpTable
from sdy.dialects.sdy.ops import ConstantOp as ShardedConstantOp
from sdy.dialects.stablehlo.clauses import ints_of
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.shape import ConstantOp
from sdy.model.axis import AxisList
from sdy.partitioner.combining_bodies import combiners_of
from sdy.partitioner.local.combining import IDEMPOTENT, Combiner, identity
from sdy.partitioner.local.emitter import tensor_of
from sdy.partitioner.local.lowering import LocalForm, Lowering

FORMS = OpTable[LocalForm]()


@FORMS.of(ReduceOp)
def reduce(op: ReduceOp) -> LocalForm:
    """The same reduction of smaller tensors."""
    combiners = combiners_of(op.body)
    dims = ints_of(op.dimensions)

    def lower(lowering: Lowering) -> None:
        axes: AxisList = tuple(axis for dim in dims for axis in lowering.dim_axes(op.inputs[0], dim))
        if axes:
            assert combiners is not None  # checked
            for index, combiner in enumerate(combiners):
                _count_once(lowering, op, len(op.inputs) + index, combiner, axes)
        for result in tuple(op.results):
            lowering.make_local(result, op)

    return lower


def _count_once(lowering: Lowering, op: ReduceOp, index: int, combiner: Combiner, axes: AxisList) -> None:
    """Let initial value `index` count on the first device along `axes` alone, unless it changes nothing anyway."""
    init = op.operands[index]
    tensor = tensor_of(init)
    nothing = identity(combiner, tensor.element_type)
    if combiner in IDEMPOTENT or _is_constant(init, nothing):
        return
    sharding = lowering.sharding(op.inputs[0])
    assert sharding is not None  # cut
    emit = lowering.emitter(op)
    mine = emit.is_first(axes, lowering.mesh(sharding), tensor)
    op.operands[index] = emit.select(mine, init, emit.constant(tensor, [nothing]))


def _is_constant(value: SSAValue, element: Scalar) -> bool:
    op = value.owner
    if not isinstance(op, ConstantOp | ShardedConstantOp) or not isinstance(op.value, DenseElementsAttr):
        return False
    return op.value.is_splat and op.value.data.codec.decode(op.value.data.raw) == element
