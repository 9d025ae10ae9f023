"""Elementwise ops of StableHLO: each element of the result depends on the operand elements at the same index."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from sdy.dialects.facts.traits import Combiner, Elementwise, Identity, LinearIn, Linearity, MovesElements
from sdy.dialects.ir.declared_ops import declared_ops, op_like
from sdy.dialects.stablehlo.attributes.attrs import DEFAULT_ACCURACY, ResultAccuracyAttr
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirectionAttr, ComparisonTypeAttr
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck
from sdy.dialects.stablehlo.checks.elementwise import (
    check_all_same_shape,
    check_all_same_type,
    check_boolean_result,
    check_clamp,
    check_complex,
    check_operands_same_type,
    check_real_result,
    check_result_accuracy,
    check_select,
)
from sdy.dialects.stablehlo.checks.requirements import (
    check_boolean_or_integer_operand,
    check_float_operand,
    check_float_or_complex_operand,
    check_integer_operand,
    check_numeric_operand,
    check_signed_operand,
)
from sdy.dialects.stablehlo.syntax.clauses import BareEnumClause, FloatFormatClause
from sdy.dialects.stablehlo.syntax.op_syntax import Form
from sdy.dialects.stablehlo.syntax.type_signatures import COMPLEX_TYPES, SAME, SELECT_TYPES
from sdy.model.sharding import ReductionKind


class UnaryOp(FormattedOp):
    """Base class of ops with one operand: `stablehlo.abs %0 : tensor<2xf32>`."""

    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure(), Elementwise())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type,)
    FORM: ClassVar[Form] = Form(signature=SAME)


class AccuracyOp(UnaryOp):
    """Base class of unary ops with a result accuracy."""

    result_accuracy = opt_prop_def(ResultAccuracyAttr, default_value=DEFAULT_ACCURACY)
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_or_complex_operand, check_result_accuracy)


class FloatUnaryOp(UnaryOp):
    """Base class of unary ops on floats."""

    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_operand)


class IntegerUnaryOp(UnaryOp):
    """Base class of unary ops on integers."""

    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_integer_operand)


class ComplexPartOp(UnaryOp):
    """Base class of ops that return a part of a complex number."""

    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_real_result, check_float_or_complex_operand)


class BinaryOp(FormattedOp):
    """Base class of ops with two operands: `stablehlo.add %0, %1 : tensor<2xf32>`."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure(), Elementwise())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type,)
    FORM: ClassVar[Form] = Form(signature=SAME)


class NumericBinaryOp(BinaryOp):
    """Base class of binary ops on numbers."""

    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_numeric_operand)


class ShiftOp(BinaryOp):
    """Base class of shifts of bits."""

    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_integer_operand)


@irdl_op_definition
class AbsOp(UnaryOp):
    """Absolute value; for a complex element, its modulus as a real number."""

    name = "stablehlo.abs"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_real_result, check_signed_operand)


CbrtOp = op_like(AccuracyOp, "stablehlo.cbrt", "Cube root.")
CeilOp = op_like(FloatUnaryOp, "stablehlo.ceil", "Round up to an integer.")


@irdl_op_definition
class ConvertOp(UnaryOp):
    """Convert to another element type, rounding or truncating if necessary."""

    name = "stablehlo.convert"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_shape,)


CosineOp = op_like(AccuracyOp, "stablehlo.cosine", "Cosine.")
CountLeadingZerosOp = op_like(IntegerUnaryOp, "stablehlo.count_leading_zeros", "Number of leading zero bits.")
ExponentialOp = op_like(AccuracyOp, "stablehlo.exponential", "Exponential.")
ExponentialMinusOneOp = op_like(
    AccuracyOp, "stablehlo.exponential_minus_one", "Exponential minus one, accurate near zero."
)
FloorOp = op_like(FloatUnaryOp, "stablehlo.floor", "Round down to an integer.")
ImagOp = op_like(ComplexPartOp, "stablehlo.imag", "Imaginary part.")
LogOp = op_like(AccuracyOp, "stablehlo.log", "Natural logarithm.")
LogPlusOneOp = op_like(
    AccuracyOp, "stablehlo.log_plus_one", "Natural logarithm of one plus the operand, accurate near zero."
)
LogisticOp = op_like(AccuracyOp, "stablehlo.logistic", "Logistic function, 1 / (1 + exp(-x)).")


@irdl_op_definition
class NegateOp(UnaryOp):
    """Negation."""

    name = "stablehlo.negate"
    traits = traits_def(LinearIn(Linearity.FIRST))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_numeric_operand)


@irdl_op_definition
class NotOp(UnaryOp):
    """Bitwise not; logical not for booleans."""

    name = "stablehlo.not"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_boolean_or_integer_operand)


PopcntOp = op_like(IntegerUnaryOp, "stablehlo.popcnt", "Number of bits that are one.")
RealOp = op_like(ComplexPartOp, "stablehlo.real", "Real part.")
RoundNearestAfzOp = op_like(
    FloatUnaryOp, "stablehlo.round_nearest_afz", "Round to the nearest integer, ties away from zero."
)
RoundNearestEvenOp = op_like(
    FloatUnaryOp, "stablehlo.round_nearest_even", "Round to the nearest integer, ties to even."
)
RsqrtOp = op_like(AccuracyOp, "stablehlo.rsqrt", "Reciprocal square root.")


@irdl_op_definition
class SignOp(UnaryOp):
    """Sign: -1, 0 or 1; for a complex element, the element divided by its modulus."""

    name = "stablehlo.sign"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_signed_operand)


SineOp = op_like(AccuracyOp, "stablehlo.sine", "Sine.")
SqrtOp = op_like(AccuracyOp, "stablehlo.sqrt", "Square root.")
TanOp = op_like(AccuracyOp, "stablehlo.tan", "Tangent.")
TanhOp = op_like(AccuracyOp, "stablehlo.tanh", "Hyperbolic tangent.")


@irdl_op_definition
class AddOp(BinaryOp):
    """Sum; logical or for booleans."""

    name = "stablehlo.add"
    traits = traits_def(Combiner(Identity.ZERO, kind=ReductionKind.SUM), LinearIn(Linearity.ALL))


@irdl_op_definition
class AndOp(BinaryOp):
    """Bitwise and."""

    name = "stablehlo.and"
    traits = traits_def(Combiner(Identity.ALL_ONES, is_idempotent=True, kind_of_booleans=ReductionKind.MIN))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_boolean_or_integer_operand)


@irdl_op_definition
class Atan2Op(BinaryOp):
    """Angle of the point (rhs, lhs)."""

    name = "stablehlo.atan2"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_or_complex_operand)


@irdl_op_definition
class DivideOp(NumericBinaryOp):
    """Quotient; rounded towards zero for integers."""

    name = "stablehlo.divide"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """Maximum; logical or for booleans."""

    name = "stablehlo.maximum"
    traits = traits_def(Combiner(Identity.LEAST, is_idempotent=True, kind=ReductionKind.MAX))


@irdl_op_definition
class MinimumOp(BinaryOp):
    """Minimum; logical and for booleans."""

    name = "stablehlo.minimum"
    traits = traits_def(Combiner(Identity.LARGEST, is_idempotent=True, kind=ReductionKind.MIN))


@irdl_op_definition
class MultiplyOp(BinaryOp):
    """Product; logical and for booleans."""

    name = "stablehlo.multiply"
    traits = traits_def(Combiner(Identity.ONE), LinearIn(Linearity.EACH))


@irdl_op_definition
class OrOp(BinaryOp):
    """Bitwise or."""

    name = "stablehlo.or"
    traits = traits_def(Combiner(Identity.ZERO, is_idempotent=True, kind_of_booleans=ReductionKind.MAX))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_boolean_or_integer_operand)


PowerOp = op_like(NumericBinaryOp, "stablehlo.power", "Power: lhs to the rhs.")
RemainderOp = op_like(
    NumericBinaryOp, "stablehlo.remainder", "Remainder of the division of lhs by rhs, with the sign of lhs."
)
ShiftLeftOp = op_like(ShiftOp, "stablehlo.shift_left", "Shift lhs left by rhs bits.")
ShiftRightArithmeticOp = op_like(
    ShiftOp, "stablehlo.shift_right_arithmetic", "Shift lhs right by rhs bits, and fill with the sign bit."
)
ShiftRightLogicalOp = op_like(
    ShiftOp, "stablehlo.shift_right_logical", "Shift lhs right by rhs bits, and fill with zeros."
)


@irdl_op_definition
class SubtractOp(BinaryOp):
    """Difference."""

    name = "stablehlo.subtract"
    traits = traits_def(LinearIn(Linearity.ALL))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_numeric_operand)


@irdl_op_definition
class XorOp(BinaryOp):
    """Bitwise exclusive or."""

    name = "stablehlo.xor"
    traits = traits_def(Combiner(Identity.ZERO))
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_boolean_or_integer_operand)


@irdl_op_definition
class ComplexOp(BinaryOp):
    """Complex number with the given real and imaginary parts."""

    name = "stablehlo.complex"
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_complex, check_float_operand)
    FORM: ClassVar[Form] = Form(signature=COMPLEX_TYPES)


@irdl_op_definition
class CompareOp(FormattedOp):
    """Compare lhs and rhs.

    `stablehlo.compare LT, %0, %1, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>`
    """

    name = "stablehlo.compare"
    lhs = operand_def()
    rhs = operand_def()
    comparison_direction = prop_def(ComparisonDirectionAttr)
    compare_type = opt_prop_def(ComparisonTypeAttr)
    result = result_def()
    traits = traits_def(Pure(), Elementwise())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (
        check_operands_same_type,
        check_boolean_result,
    )
    FORM: ClassVar[Form] = Form(
        lead=BareEnumClause("comparison_direction", ComparisonDirectionAttr),
        clauses=(BareEnumClause("compare_type", ComparisonTypeAttr, is_optional=True),),
    )


@irdl_op_definition
class SelectOp(FormattedOp):
    """Select the element of `on_true` or `on_false` at each index; `pred` may be a scalar.

    `stablehlo.select %0, %1, %2 : tensor<2xi1>, tensor<2xf32>`
    """

    name = "stablehlo.select"
    pred = operand_def()
    on_true = operand_def()
    on_false = operand_def()
    result = result_def()
    traits = traits_def(Pure(), Elementwise(), MovesElements())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_select,)
    FORM: ClassVar[Form] = Form(signature=SELECT_TYPES)


@irdl_op_definition
class ClampOp(FormattedOp):
    """Limit the operand to the range from `min` to `max`, which may be scalars.

    `stablehlo.clamp %0, %1, %2 : tensor<2xf32>`
    """

    name = "stablehlo.clamp"
    min = operand_def()
    operand = operand_def()
    max = operand_def()
    result = result_def()
    traits = traits_def(Pure(), Elementwise())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_clamp,)
    FORM: ClassVar[Form] = Form(signature=SAME)


@irdl_op_definition
class IsFiniteOp(FormattedOp):
    """Test whether an element is neither infinite nor NaN.

    `stablehlo.is_finite %0 : (tensor<2xf32>) -> tensor<2xi1>`
    """

    name = "stablehlo.is_finite"
    x = operand_def()
    y = result_def()
    traits = traits_def(Pure(), Elementwise())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_boolean_result, check_float_operand)


@irdl_op_definition
class ReducePrecisionOp(FormattedOp):
    """Round to a format of fewer exponent and mantissa bits, and convert back.

    `stablehlo.reduce_precision %0, format = e5m10 : tensor<2xf32>`
    """

    name = "stablehlo.reduce_precision"
    operand = operand_def()
    exponent_bits = prop_def(IntegerAttr.constr(i32))
    mantissa_bits = prop_def(IntegerAttr.constr(i32))
    output = result_def()
    traits = traits_def(Pure(), Elementwise())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_type, check_float_operand)
    FORM: ClassVar[Form] = Form(clauses=(FloatFormatClause(),), signature=SAME)


@irdl_op_definition
class UniformQuantizeOp(FormattedOp):
    """Round to the nearest quantized values."""

    name = "stablehlo.uniform_quantize"
    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure(), Elementwise())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_shape,)


@irdl_op_definition
class UniformDequantizeOp(FormattedOp):
    """Convert quantized values to the floats that they represent."""

    name = "stablehlo.uniform_dequantize"
    operand = operand_def()
    result = result_def()
    traits = traits_def(Pure(), Elementwise())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_all_same_shape,)


OPS = declared_ops(__name__)
