"""The element of which a tensor is full, where the program says so."""

from __future__ import annotations

from xdsl.ir import SSAValue

from sdy.dialects.dense import DenseElementsAttr
from sdy.dialects.elements import Scalar
from sdy.dialects.sdy.ops import ConstantOp as ShardedConstantOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ConstantOp, ReshapeOp


def known_scalar(value: SSAValue) -> Scalar | None:
    """The only element of a constant, which may come in another shape; None of what is no constant, or of several."""
    op = value.owner
    while isinstance(op, BroadcastInDimOp | ReshapeOp):
        op = op.operand.owner
    if not isinstance(op, ConstantOp | ShardedConstantOp) or not isinstance(op.value, DenseElementsAttr):
        return None
    return op.value.data.codec.decode(op.value.data.raw) if op.value.is_splat else None
