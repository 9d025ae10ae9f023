"""Elementwise functions of CHLO that StableHLO has no op for."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from sdy.dialects.facts.traits import Elementwise
from sdy.dialects.ir.declared_ops import declared_ops, op_like
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


class RealFunctionOp(ChloUnaryOp):
    """Base class of functions of real numbers."""

    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_operand)


class FloatTestOp(ChloUnaryOp):
    """Base class of tests of floats."""

    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_boolean_result, check_float_operand)


AcosOp = op_like(ChloUnaryOp, "chlo.acos", "Arc cosine.")
AcoshOp = op_like(ChloUnaryOp, "chlo.acosh", "Inverse hyperbolic cosine.")
AsinOp = op_like(ChloUnaryOp, "chlo.asin", "Arc sine.")
AsinhOp = op_like(ChloUnaryOp, "chlo.asinh", "Inverse hyperbolic sine.")
AtanOp = op_like(ChloUnaryOp, "chlo.atan", "Arc tangent.")
AtanhOp = op_like(ChloUnaryOp, "chlo.atanh", "Inverse hyperbolic tangent.")
BesselI1eOp = op_like(ChloUnaryOp, "chlo.bessel_i1e", "The modified Bessel function of order one, scaled by exp(-|x|).")
ConjOp = op_like(ChloUnaryOp, "chlo.conj", "Complex conjugate.")
CoshOp = op_like(ChloUnaryOp, "chlo.cosh", "Hyperbolic cosine.")
DigammaOp = op_like(RealFunctionOp, "chlo.digamma", "The derivative of log-gamma.")
ErfOp = op_like(RealFunctionOp, "chlo.erf", "The error function.")
ErfInvOp = op_like(RealFunctionOp, "chlo.erf_inv", "The inverse of the error function.")
ErfcOp = op_like(RealFunctionOp, "chlo.erfc", "The complementary error function, one minus the error function.")
IsInfOp = op_like(FloatTestOp, "chlo.is_inf", "Test whether an element is infinite.")
IsNegInfOp = op_like(FloatTestOp, "chlo.is_neg_inf", "Test whether an element is negative infinity.")
IsPosInfOp = op_like(FloatTestOp, "chlo.is_pos_inf", "Test whether an element is positive infinity.")
LgammaOp = op_like(RealFunctionOp, "chlo.lgamma", "The logarithm of the magnitude of the gamma function.")
SinhOp = op_like(ChloUnaryOp, "chlo.sinh", "Hyperbolic sine.")
SquareOp = op_like(ChloUnaryOp, "chlo.square", "The square.")
TanOp = op_like(ChloUnaryOp, "chlo.tan", "Tangent.")
AsinAcosKernelOp = op_like(
    ChloUnaryOp, "chlo._asin_acos_kernel", "The common part of arc sine and arc cosine of complex numbers."
)


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
