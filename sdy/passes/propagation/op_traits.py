"""What propagation asks of an op apart from its rule: is it element-wise, what does it pass through, may it be erased.

Source: spec of propagation, sections 1.6, 5.2 and 5.3.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import IsTerminator, SymbolOpInterface, is_side_effect_free

from sdy.dialects.sdy.ops import PropagationBarrierOp, ReshardOp, ShardingConstraintOp
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo import elementwise
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.dialects.stablehlo.shape import BitcastConvertOp, BroadcastInDimOp, ReshapeOp, TransposeOp
from sdy.dialects.stablehlo.slicing import DynamicSliceOp, DynamicUpdateSliceOp
from sdy.propagation.graph import PassThrough

ELEMENTWISE = frozenset[type[Operation]]((*elementwise.OPS, PropagationBarrierOp, ReshardOp, ShardingConstraintOp))
PASS_THROUGH: dict[type[Operation], PassThrough] = {
    **dict.fromkeys((*ELEMENTWISE, ReshapeOp, TransposeOp), PassThrough.BOTH),
    DynamicSliceOp: PassThrough.FORWARD,
    DynamicUpdateSliceOp: PassThrough.FORWARD,
    BroadcastInDimOp: PassThrough.BROADCAST,
}
MEMORY_MOVES = ("MoveToDevice", "MoveToHost")  # custom calls that hand their operand on


def is_elementwise(op: Operation) -> bool:
    """Whether each element of the results comes from the elements at its place."""
    if isinstance(op, BitcastConvertOp):
        return static_shape(op.operand.type) == static_shape(op.result.type)
    return type(op) in ELEMENTWISE


def pass_through(op: Operation) -> PassThrough:
    """In which op-priority class the op starts."""
    if isinstance(op, BitcastConvertOp | CustomCallOp):
        moves = isinstance(op, CustomCallOp) and op.call_target_name.data in MEMORY_MOVES
        return PassThrough.BOTH if moves or is_elementwise(op) else PassThrough.NO
    return PASS_THROUGH.get(type(op), PassThrough.NO)


def is_erasable(op: Operation) -> bool:
    """Whether the op may go when nobody uses its results."""
    if op.has_trait(IsTerminator) or op.has_trait(SymbolOpInterface):
        return False
    return is_side_effect_free(op)
