"""Elementwise functions of CHLO that StableHLO has no op for."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from sdy.dialects.facts.traits import Elementwise
from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck
from sdy.dialects.stablehlo.checks.elementwise import check_all_same_type, check_boolean_result
from sdy.dialects.stablehlo.checks.requirements import (
    check_float_operand,
    check_float_or_complex_operand,
    check_integer_operand,
)
from sdy.dialects.stablehlo.syntax.op_syntax import Form
from sdy.dialects.stablehlo.syntax.type_signatures import ARROW


class ChloOp(FormattedOp):
    """Base class of elementwise ops: `chlo.square %0 : tensor<2xf32> -> tensor<2xf32>`."""

    result = result_def()
    traits = traits_def(Pure(), Elementwise())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type,)
    FORM: ClassVar[Form] = Form(signature=ARROW)


class ChloUnaryOp(ChloOp):
    """Base class of elementwise ops with one operand."""

    operand = operand_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_or_complex_operand)


@irdl_op_definition
class AcosOp(ChloUnaryOp):
    """Arc cosine."""

    name = "chlo.acos"


@irdl_op_definition
class AcoshOp(ChloUnaryOp):
    """Inverse hyperbolic cosine."""

    name = "chlo.acosh"


@irdl_op_definition
class AsinOp(ChloUnaryOp):
    """Arc sine."""

    name = "chlo.asin"


@irdl_op_definition
class AsinhOp(ChloUnaryOp):
    """Inverse hyperbolic sine."""

    name = "chlo.asinh"


@irdl_op_definition
class AtanOp(ChloUnaryOp):
    """Arc tangent."""

    name = "chlo.atan"


@irdl_op_definition
class AtanhOp(ChloUnaryOp):
    """Inverse hyperbolic tangent."""

    name = "chlo.atanh"


@irdl_op_definition
class BesselI1eOp(ChloUnaryOp):
    """The modified Bessel function of order one, scaled by exp(-|x|)."""

    name = "chlo.bessel_i1e"


@irdl_op_definition
class ConjOp(ChloUnaryOp):
    """Complex conjugate."""

    name = "chlo.conj"


@irdl_op_definition
class CoshOp(ChloUnaryOp):
    """Hyperbolic cosine."""

    name = "chlo.cosh"


@irdl_op_definition
class DigammaOp(ChloUnaryOp):
    """The derivative of log-gamma."""

    name = "chlo.digamma"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_operand)


@irdl_op_definition
class ErfOp(ChloUnaryOp):
    """The error function."""

    name = "chlo.erf"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_operand)


@irdl_op_definition
class ErfInvOp(ChloUnaryOp):
    """The inverse of the error function."""

    name = "chlo.erf_inv"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_operand)


@irdl_op_definition
class ErfcOp(ChloUnaryOp):
    """The complementary error function, one minus the error function."""

    name = "chlo.erfc"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_operand)


@irdl_op_definition
class IsInfOp(ChloUnaryOp):
    """Test whether an element is infinite."""

    name = "chlo.is_inf"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_boolean_result, check_float_operand)


@irdl_op_definition
class IsNegInfOp(ChloUnaryOp):
    """Test whether an element is negative infinity."""

    name = "chlo.is_neg_inf"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_boolean_result, check_float_operand)


@irdl_op_definition
class IsPosInfOp(ChloUnaryOp):
    """Test whether an element is positive infinity."""

    name = "chlo.is_pos_inf"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_boolean_result, check_float_operand)


@irdl_op_definition
class LgammaOp(ChloUnaryOp):
    """The logarithm of the magnitude of the gamma function."""

    name = "chlo.lgamma"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_operand)


@irdl_op_definition
class SinhOp(ChloUnaryOp):
    """Hyperbolic sine."""

    name = "chlo.sinh"


@irdl_op_definition
class SquareOp(ChloUnaryOp):
    """The square."""

    name = "chlo.square"


@irdl_op_definition
class TanOp(ChloUnaryOp):
    """Tangent."""

    name = "chlo.tan"


@irdl_op_definition
class AsinAcosKernelOp(ChloUnaryOp):
    """The common part of arc sine and arc cosine of complex numbers."""

    name = "chlo._asin_acos_kernel"


@irdl_op_definition
class MulhiOp(ChloOp):
    """The upper half of the bits of a product."""

    name = "chlo.mulhi"
    lhs = operand_def()
    rhs = operand_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_integer_operand)


@irdl_op_definition
class NextAfterOp(ChloOp):
    """The next representable value after x in the direction of y."""

    name = "chlo.next_after"
    x = operand_def()
    y = operand_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_operand)


@irdl_op_definition
class PolygammaOp(ChloOp):
    """The n-th derivative of digamma at x."""

    name = "chlo.polygamma"
    n = operand_def()
    x = operand_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_operand)


@irdl_op_definition
class ZetaOp(ChloOp):
    """The Hurwitz zeta function."""

    name = "chlo.zeta"
    x = operand_def()
    q = operand_def()
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_operand)


OPS = declared_ops(__name__)
