"""The element of which a tensor is full, where the program says so; whether it changes what is folded from it."""

from __future__ import annotations

from xdsl.ir import SSAValue

from sdy.dialects.dense import DenseElementsAttr
from sdy.dialects.elements import Scalar
from sdy.dialects.sdy.ops import ConstantOp as ShardedConstantOp
from sdy.dialects.stablehlo.shape import BroadcastInDimOp, ConstantOp, ReshapeOp
from sdy.dialects.stablehlo.types import element_type_of
from sdy.partitioner.local.combining import IDEMPOTENT, Combiner, identity


def known_scalar(value: SSAValue) -> Scalar | None:
    """The only element of a constant, which may come in another shape; None of what is no constant, or of several."""
    op = value.owner
    while isinstance(op, BroadcastInDimOp | ReshapeOp):
        op = op.operand.owner
    if not isinstance(op, ConstantOp | ShardedConstantOp) or not isinstance(op.value, DenseElementsAttr):
        return None
    return op.value.data.codec.decode(op.value.data.raw) if op.value.is_splat else None


def may_count_again(init: SSAValue, combiner: Combiner) -> bool:
    """Whether an initial value may be combined several times with what is folded from it."""
    return combiner in IDEMPOTENT or known_scalar(init) == identity(combiner, element_type_of(init))
