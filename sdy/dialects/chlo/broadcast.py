"""Elementwise CHLO ops that broadcast their operands to a common shape."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from sdy.dialects.chlo.attrs import ComparisonDirectionAttr, ComparisonTypeAttr
from sdy.dialects.chlo.checks import (
    check_broadcast_binary,
    check_broadcast_compare,
    check_broadcast_complex,
    check_broadcast_select,
)
from sdy.dialects.ir.declared_ops import declared_ops, op_like
from sdy.dialects.stablehlo import families
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck


class BroadcastBinaryOp(FormattedOp):
    """Base class of binary ops:
    `chlo.broadcast_add %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>`.
    """

    lhs = operand_def()
    rhs = operand_def()
    broadcast_dimensions = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_broadcast_binary,)


def _broadcast(plain: str) -> type[BroadcastBinaryOp]:
    """Return the class of an op whose only peculiarity is its name, `chlo.broadcast_PLAIN`."""
    return op_like(BroadcastBinaryOp, f"chlo.broadcast_{plain}", f"`{plain}` of operands broadcast to a common shape.")


BroadcastAddOp = _broadcast("add")
BroadcastAndOp = _broadcast("and")
BroadcastAtan2Op = _broadcast("atan2")
BroadcastDivideOp = _broadcast("divide")
BroadcastMaximumOp = _broadcast("maximum")
BroadcastMinimumOp = _broadcast("minimum")
BroadcastMultiplyOp = _broadcast("multiply")
BroadcastNextAfterOp = _broadcast("next_after")
BroadcastOrOp = _broadcast("or")
BroadcastPolygammaOp = _broadcast("polygamma")
BroadcastPowerOp = _broadcast("power")
BroadcastRemainderOp = _broadcast("remainder")
BroadcastShiftLeftOp = _broadcast("shift_left")
BroadcastShiftRightArithmeticOp = _broadcast("shift_right_arithmetic")
BroadcastShiftRightLogicalOp = _broadcast("shift_right_logical")
BroadcastSubtractOp = _broadcast("subtract")
BroadcastXorOp = _broadcast("xor")
BroadcastZetaOp = _broadcast("zeta")


@irdl_op_definition
class BroadcastComplexOp(BroadcastBinaryOp):
    """`complex` of operands broadcast to a common shape."""

    name = "chlo.broadcast_complex"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_broadcast_complex,)


@irdl_op_definition
class BroadcastCompareOp(BroadcastBinaryOp):
    """`compare` of operands broadcast to a common shape."""

    name = "chlo.broadcast_compare"
    comparison_direction = prop_def(ComparisonDirectionAttr)
    compare_type = opt_prop_def(ComparisonTypeAttr)
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_broadcast_compare,)


@irdl_op_definition
class BroadcastSelectOp(FormattedOp):
    """`select` of operands broadcast to a common shape."""

    name = "chlo.broadcast_select"
    pred = operand_def()
    on_true = operand_def()
    on_false = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_broadcast_select,)


OPS = declared_ops(__name__)


def plain_op(op_class: type[Operation]) -> type[Operation] | None:
    """Return the class of StableHLO's op that computes the same on operands of one shape, if it has one."""
    return families.op_class(op_class.name.replace("chlo.broadcast_", "stablehlo."))
