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
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo import families
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck
from sdy.dialects.stablehlo.syntax.op_syntax import Form


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
    FORM: ClassVar[Form] = Form()


@irdl_op_definition
class BroadcastAddOp(BroadcastBinaryOp):
    """`add` of operands broadcast to a common shape."""

    name = "chlo.broadcast_add"


@irdl_op_definition
class BroadcastAndOp(BroadcastBinaryOp):
    """`and` of operands broadcast to a common shape."""

    name = "chlo.broadcast_and"


@irdl_op_definition
class BroadcastAtan2Op(BroadcastBinaryOp):
    """`atan2` of operands broadcast to a common shape."""

    name = "chlo.broadcast_atan2"


@irdl_op_definition
class BroadcastComplexOp(BroadcastBinaryOp):
    """`complex` of operands broadcast to a common shape."""

    name = "chlo.broadcast_complex"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_broadcast_complex,)


@irdl_op_definition
class BroadcastDivideOp(BroadcastBinaryOp):
    """`divide` of operands broadcast to a common shape."""

    name = "chlo.broadcast_divide"


@irdl_op_definition
class BroadcastMaximumOp(BroadcastBinaryOp):
    """`maximum` of operands broadcast to a common shape."""

    name = "chlo.broadcast_maximum"


@irdl_op_definition
class BroadcastMinimumOp(BroadcastBinaryOp):
    """`minimum` of operands broadcast to a common shape."""

    name = "chlo.broadcast_minimum"


@irdl_op_definition
class BroadcastMultiplyOp(BroadcastBinaryOp):
    """`multiply` of operands broadcast to a common shape."""

    name = "chlo.broadcast_multiply"


@irdl_op_definition
class BroadcastNextAfterOp(BroadcastBinaryOp):
    """`next_after` of operands broadcast to a common shape."""

    name = "chlo.broadcast_next_after"


@irdl_op_definition
class BroadcastOrOp(BroadcastBinaryOp):
    """`or` of operands broadcast to a common shape."""

    name = "chlo.broadcast_or"


@irdl_op_definition
class BroadcastPolygammaOp(BroadcastBinaryOp):
    """`polygamma` of operands broadcast to a common shape."""

    name = "chlo.broadcast_polygamma"


@irdl_op_definition
class BroadcastPowerOp(BroadcastBinaryOp):
    """`power` of operands broadcast to a common shape."""

    name = "chlo.broadcast_power"


@irdl_op_definition
class BroadcastRemainderOp(BroadcastBinaryOp):
    """`remainder` of operands broadcast to a common shape."""

    name = "chlo.broadcast_remainder"


@irdl_op_definition
class BroadcastShiftLeftOp(BroadcastBinaryOp):
    """`shift_left` of operands broadcast to a common shape."""

    name = "chlo.broadcast_shift_left"


@irdl_op_definition
class BroadcastShiftRightArithmeticOp(BroadcastBinaryOp):
    """`shift_right_arithmetic` of operands broadcast to a common shape."""

    name = "chlo.broadcast_shift_right_arithmetic"


@irdl_op_definition
class BroadcastShiftRightLogicalOp(BroadcastBinaryOp):
    """`shift_right_logical` of operands broadcast to a common shape."""

    name = "chlo.broadcast_shift_right_logical"


@irdl_op_definition
class BroadcastSubtractOp(BroadcastBinaryOp):
    """`subtract` of operands broadcast to a common shape."""

    name = "chlo.broadcast_subtract"


@irdl_op_definition
class BroadcastXorOp(BroadcastBinaryOp):
    """`xor` of operands broadcast to a common shape."""

    name = "chlo.broadcast_xor"


@irdl_op_definition
class BroadcastZetaOp(BroadcastBinaryOp):
    """`zeta` of operands broadcast to a common shape."""

    name = "chlo.broadcast_zeta"


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
    FORM: ClassVar[Form] = Form()


OPS = declared_ops(__name__)


def plain_op(op_class: type[Operation]) -> type[Operation] | None:
    """Return the class of StableHLO's op that computes the same on operands of one shape, if it has one."""
    return families.op_class(op_class.name.replace("chlo.broadcast_", "stablehlo."))
