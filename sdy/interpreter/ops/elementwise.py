"""Kernels of the elementwise ops: each element of the result depends on the operands' elements at its index."""

from __future__ import annotations

from functools import partial

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
    ops.ExponentialMinusOneOp: arithmetic.exponential_minus_one,
    ops.FloorOp: in_compute_dtype(np.floor),
    ops.ImagOp: np.imag,
    ops.IsFiniteOp: arithmetic.is_finite,
    ops.LogOp: in_exact_dtype(np.log),
    ops.LogPlusOneOp: arithmetic.log_plus_one,
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
    """Apply the function of the op to its elements."""
    return pointwise(FUNCTIONS[type(op)])


@KERNELS.of(ops.ConvertOp)
def convert(op: ops.ConvertOp) -> Kernel:
    """Convert the values to the element type of the result."""
    return pointwise(partial(converted, dtype=dtype_of_type(op.result.type)))


@KERNELS.of(ops.ComplexOp)
def complex_of_parts(op: ops.ComplexOp) -> Kernel:
    """Return `lhs + i * rhs` without arithmetic: infinities and signed zeros stay in their part."""
    return pointwise(complex_of(dtype_of_type(op.result.type)))


def complex_of(dtype: DType) -> Compute:
    """Return the function that combines real and imaginary parts to complex numbers of this dtype."""

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
    """Compare lhs with rhs."""
    compare_type = None if op.compare_type is None else op.compare_type.data
    return pointwise(comparison(op.comparison_direction.data, compare_type))


def comparison(direction: ComparisonDirection, compare_type: ComparisonType | None) -> Compute:
    """Return the function that compares two values; NaN is unequal to every value, unless the order is total."""
    relation = _COMPARISONS[direction]
    key = arithmetic.total_order_key if compare_type is ComparisonType.TOTALORDER else _in_compute_dtype

    def compute(lhs: Array, rhs: Array) -> Array:
        return relation(key(lhs), key(rhs))

    return compute


@KERNELS.of(ops.SelectOp)
def select(op: ops.SelectOp) -> Kernel:
    """Select `on_true` where `pred` holds, else `on_false`; a predicate of rank 0 applies to all elements."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        pred, on_true, on_false = arrays
        return (_selected(_of_rank(context, pred, on_true.ndim), on_true, on_false),)

    return kernel


def _selected(pred: Array, on_true: Array, on_false: Array) -> Array:
    """Select; elements that all operands repeat along a dim are selected once, and the result repeats them too."""
    arrays = (pred, on_true, on_false)
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    once = tuple(
        slice(1) if all(array.shape[dim] == 1 or array.strides[dim] == 0 for array in arrays) else slice(None)
        for dim in range(len(shape))
    )
    return np.broadcast_to(np.where(*(array[once] for array in arrays)), shape)


@KERNELS.of(ops.ClampOp)
def clamp(op: ops.ClampOp) -> Kernel:
    """Limit `operand` to the range from `min` to `max`; bounds of rank 0 apply to all elements."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        low, operand, high = arrays
        low, high = (_of_rank(context, bound, operand.ndim) for bound in (low, high))
        return (np.asarray(arithmetic.clamp(low, operand, high)),)

    return kernel


@KERNELS.of(ops.ReducePrecisionOp)
def reduce_precision(op: ops.ReducePrecisionOp) -> Kernel:
    """Round to the precision of a narrower float."""
    exponent_bits, mantissa_bits = op.exponent_bits.value.data, op.mantissa_bits.value.data

    def compute(operand: Array) -> Array:
        return reduced_precision(operand, exponent_bits, mantissa_bits)

    return pointwise(compute)


def _in_compute_dtype(operand: Array) -> Array:
    return operand.astype(compute_dtype(operand.dtype), copy=False)


def _of_rank(context: KernelContext, array: Array, rank: int) -> Array:
    """Return a tensor of rank 0 reshaped to `rank` dims of size 1; other tensors unchanged."""
    return with_unit_dims(context, array, rank - array.ndim)
