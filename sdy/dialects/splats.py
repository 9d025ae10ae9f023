"""Values whose elements are all equal, as the program spells them out."""

from __future__ import annotations

from xdsl.ir import SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.sdy.ops import ConstantOp as ShardedConstantOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ConstantOp, ReshapeOp


def repeated_value(value: SSAValue) -> SSAValue:
    """Return the value of which this one is a broadcast or a reshape, through several of them; itself if it is none."""
    while isinstance(op := value.owner, BroadcastInDimOp | ReshapeOp):
        value = op.operand
    return value


def splat_of(value: SSAValue) -> DenseElementsAttr | None:
    """Return the literal of the constant that a value is, or of which it is a broadcast or a reshape.

    The result is None for any other value, and for a constant whose elements are not all equal.
    """
    op = repeated_value(value).owner
    if not isinstance(op, ConstantOp | ShardedConstantOp) or not isinstance(op.value, DenseElementsAttr):
        return None
    return op.value if op.value.is_splat else None
