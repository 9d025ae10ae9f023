"""Kernels of the elementwise ops: every element of the result comes from the elements at the same place."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.stablehlo import elementwise as ops
from sdy.dialects.stablehlo.attributes.enums import ComparisonDirection, ComparisonType
from sdy.interpreter.arrays.element_types import Array, DType, compute_dtype, dtype_of_type
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, pointwise, with_unit_dims
from sdy.interpreter.ops import arithmetic
from sdy.interpreter.ops.arithmetic import Compute, in_compute_dtype, in_exact_dtype
from sdy.interpreter.ops.conversion import converted, reduced_precision

KERNELS = KernelTable()

FUNCTIONS: dict[type[Operation], Compute] = {
    ops.AbsOp: arithmetic.absolute,
    ops.AddOp: arithmetic.add,
    ops.AndOp: arithmetic.bitwise_and,
    ops.Atan2Op: arithmetic.atan2,
    ops.CbrtOp: arithmetic.cube_root,
    ops.CeilOp: in_compute_dtype(np.ceil),
    ops.CosineOp: in_exact_dtype(np.cos),
    ops.CountLeadingZerosOp: arithmetic.count_leading_zeros,
    ops.DivideOp: arithmetic.divide,
    ops.ExponentialOp: in_exact_dtype(np.exp),
    ops.ExponentialMinusOneOp: in_exact_dtype(np.expm1),
    ops.FloorOp: in_compute_dtype(np.floor),
    ops.ImagOp: np.imag,
    ops.IsFiniteOp: arithmetic.is_finite,
    ops.LogOp: in_exact_dtype(np.log),
    ops.LogPlusOneOp: in_exact_dtype(np.log1p),
    ops.LogisticOp: arithmetic.logistic,
    ops.MaximumOp: arithmetic.maximum,
    ops.MinimumOp: arithmetic.minimum,
    ops.MultiplyOp: arithmetic.multiply,
    ops.NegateOp: arithmetic.negate,
    ops.NotOp: arithmetic.bitwise_not,
    ops.OrOp: arithmetic.bitwise_or,
    ops.PopcntOp: arithmetic.population_count,
    ops.PowerOp: arithmetic.power,
    ops.RealOp: np.real,
    ops.RemainderOp: arithmetic.remainder,
    ops.RoundNearestAfzOp: arithmetic.round_half_away,
    ops.RoundNearestEvenOp: in_compute_dtype(np.rint),
    ops.RsqrtOp: arithmetic.rsqrt,
    ops.ShiftLeftOp: arithmetic.shift_left,
    ops.ShiftRightArithmeticOp: arithmetic.shift_right_arithmetic,
    ops.ShiftRightLogicalOp: arithmetic.shift_right_logical,
    ops.SignOp: arithmetic.sign,
    ops.SineOp: in_exact_dtype(np.sin),
    ops.SqrtOp: in_exact_dtype(np.sqrt),
    ops.SubtractOp: arithmetic.subtract,
    ops.TanOp: in_exact_dtype(np.tan),
    ops.TanhOp: in_exact_dtype(np.tanh),
    ops.XorOp: arithmetic.bitwise_xor,
}


@KERNELS.of(*FUNCTIONS)
def function_of_elements(op: Operation) -> Kernel:
    """One call of the function that the op stands for."""
    return pointwise(FUNCTIONS[type(op)])


@KERNELS.of(ops.ConvertOp)
def convert(op: ops.ConvertOp) -> Kernel:
    """The values with the element type of the result."""
    dtype = dtype_of_type(op.result.type)

    def compute(operand: Array) -> Array:
        return converted(operand, dtype)

    return pointwise(compute)


@KERNELS.of(ops.ComplexOp)
def complex_of_parts(op: ops.ComplexOp) -> Kernel:
    """`lhs + i * rhs`, without arithmetic: infinities and signed zeros stay in their part."""
    return pointwise(joined_parts(dtype_of_type(op.result.type)))


def joined_parts(dtype: DType) -> Compute:
    """The complex numbers of this dtype with the given real and imaginary parts."""

    def compute(real: Array, imaginary: Array) -> Array:
        result = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), dtype)
        parts = result[..., np.newaxis].view(real.dtype)
        parts[..., 0], parts[..., 1] = real, imaginary
        return result

    return compute


_COMPARISONS: dict[ComparisonDirection, np.ufunc] = {
    ComparisonDirection.EQ: np.equal,
    ComparisonDirection.NE: np.not_equal,
    ComparisonDirection.GE: np.greater_equal,
    ComparisonDirection.GT: np.greater,
    ComparisonDirection.LE: np.less_equal,
    ComparisonDirection.LT: np.less,
}


@KERNELS.of(ops.CompareOp)
def compare(op: ops.CompareOp) -> Kernel:
    """How lhs relates to rhs."""
    compare_type = None if op.compare_type is None else op.compare_type.data
    return pointwise(comparison(op.comparison_direction.data, compare_type))


def comparison(direction: ComparisonDirection, compare_type: ComparisonType | None) -> Compute:
    """Whether two values are in a relation; NaN is unequal to all, unless the order is total."""
    relation = _COMPARISONS[direction]
    key = arithmetic.total_order_key if compare_type is ComparisonType.TOTALORDER else _in_compute_dtype

    def compute(lhs: Array, rhs: Array) -> Array:
        return relation(key(lhs), key(rhs))

    return compute


@KERNELS.of(ops.SelectOp)
def select(op: ops.SelectOp) -> Kernel:
    """`on_true` where `pred` holds, else `on_false`; a predicate of rank 0 decides for all elements."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        pred, on_true, on_false = arrays
        return (np.where(_of_rank(context, pred, on_true.ndim), on_true, on_false),)

    return kernel


@KERNELS.of(ops.ClampOp)
def clamp(op: ops.ClampOp) -> Kernel:
    """`operand` between `min` and `max`, each of which may be one element for all."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        low, operand, high = arrays
        low, high = (_of_rank(context, bound, operand.ndim) for bound in (low, high))
        return (np.asarray(arithmetic.clamp(low, operand, high)),)

    return kernel


@KERNELS.of(ops.ReducePrecisionOp)
def reduce_precision(op: ops.ReducePrecisionOp) -> Kernel:
    """Rounded as a narrower float would be."""
    exponent_bits, mantissa_bits = op.exponent_bits.value.data, op.mantissa_bits.value.data

    def compute(operand: Array) -> Array:
        return reduced_precision(operand, exponent_bits, mantissa_bits)

    return pointwise(compute)


def _in_compute_dtype(operand: Array) -> Array:
    return operand.astype(compute_dtype(operand.dtype), copy=False)


def _of_rank(context: KernelContext, array: Array, rank: int) -> Array:
    """A tensor of rank 0 with dims of size 1, up to `rank` dims in all; any other tensor has them already."""
    return with_unit_dims(context, array, rank - array.ndim)
