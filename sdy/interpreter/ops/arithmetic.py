"""Elementwise arithmetic as StableHLO defines it, where NumPy differs: integers, signed zeros, narrow types.

Unless stated otherwise, functions take arrays of one dtype and return arrays of that dtype.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sdy.interpreter.arrays.element_types import (
    Array,
    DType,
    bit_width,
    compute_dtype,
    exact_dtype,
    is_complex,
    is_float,
    is_integer,
    is_signed,
)
from sdy.interpreter.failure import failure
from sdy.interpreter.ops import complex_functions

Compute = Callable[..., Array]


def in_compute_dtype(function: Compute) -> Compute:
    """Return `function` computed in the compute dtype, with results rounded or wrapped back."""
    return _in_wide_dtype(function, compute_dtype)


def in_exact_dtype(function: Compute) -> Compute:
    """Return `function` computed in a dtype so wide that results are rounded once; integers keep their dtype."""
    return _in_wide_dtype(function, exact_dtype)


def _in_wide_dtype(function: Compute, wide_dtype: Callable[[DType], DType]) -> Compute:
    def compute(*arrays: Array) -> Array:
        dtype = arrays[0].dtype
        wide = wide_dtype(dtype)
        if wide == dtype:
            return function(*arrays)
        return function(*[array.astype(wide) for array in arrays]).astype(dtype)

    return compute


# The sum of booleans is their disjunction; integers wrap.
add, subtract, negate = (in_compute_dtype(each) for each in (np.add, np.subtract, np.negative))
bitwise_and, bitwise_or, bitwise_xor, bitwise_not = (
    in_compute_dtype(each) for each in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert)
)


@in_compute_dtype
def multiply(lhs: Array, rhs: Array) -> Array:
    """Return the product; logical and for booleans."""
    return complex_functions.multiply(lhs, rhs) if is_complex(lhs.dtype) else np.multiply(lhs, rhs)


@in_compute_dtype
def divide(lhs: Array, rhs: Array) -> Array:
    """Return the quotient. Integers round toward 0; an integer divided by 0 is -1, or all ones if unsigned."""
    if is_complex(lhs.dtype):
        return in_exact_dtype(complex_functions.divide)(lhs, rhs)
    if not is_integer(lhs.dtype):
        return np.divide(lhs, rhs)
    by_zero = rhs == 0
    divisor = np.where(by_zero, np.ones((), rhs.dtype), rhs)
    quotient = np.floor_divide(np.subtract(lhs, np.fmod(lhs, divisor)), divisor)
    return np.where(by_zero, np.invert(np.zeros((), lhs.dtype)), quotient)


@in_compute_dtype
def remainder(lhs: Array, rhs: Array) -> Array:
    """Return the remainder of division rounded toward 0, with the sign of `lhs`; for an integer divisor 0, `lhs`.

    Raises: SdyError SDY-X018 for complex numbers, as the reference interpreter.
    """
    if is_complex(lhs.dtype):
        raise failure("SDY-X018", "the remainder of complex numbers is not defined")
    if not is_integer(lhs.dtype):
        return np.fmod(lhs, rhs)
    by_zero = rhs == 0
    return np.where(by_zero, lhs, np.fmod(lhs, np.where(by_zero, np.ones((), rhs.dtype), rhs)))


@in_compute_dtype
def maximum(lhs: Array, rhs: Array) -> Array:
    """Return the larger value; NaN if either is NaN, and 0 rather than -0. Complex numbers are ordered by parts."""
    if is_complex(lhs.dtype):
        return complex_functions.maximum(lhs, rhs)
    result = np.maximum(lhs, rhs)
    if not is_float(result.dtype):
        return result
    doubtful = _bits(result) == _negative_zero_bits(result.dtype)
    if doubtful.any():
        # The sum of two zeros is -0 only if both are -0, which is what the maximum of zeros must be.
        result = np.where(doubtful & (lhs == rhs), np.add(lhs, rhs), result)
    return result


@in_compute_dtype
def minimum(lhs: Array, rhs: Array) -> Array:
    """Return the smaller value; NaN if either is NaN, and -0 rather than 0. Complex numbers are ordered by parts."""
    if is_complex(lhs.dtype):
        return complex_functions.minimum(lhs, rhs)
    result = np.minimum(lhs, rhs)
    if not is_float(result.dtype):
        return result
    doubtful = _bits(result) == 0
    if doubtful.any():
        result = np.where(doubtful & (lhs == rhs), np.negative(np.add(np.negative(lhs), np.negative(rhs))), result)
    return result


def absolute(operand: Array) -> Array:
    """Return the absolute value; a complex array gives a real array of moduli."""
    return complex_functions.absolute(operand) if is_complex(operand.dtype) else in_compute_dtype(np.abs)(operand)


@in_compute_dtype
def sign(operand: Array) -> Array:
    """Return -1, 0 or 1; zeros keep their sign and NaN stays NaN.

    A complex number is divided by its modulus, zeros become 0 without a sign.
    """
    if is_complex(operand.dtype):
        modulus = absolute(operand)
        direction = divide(operand, complex_functions.of_parts(modulus, np.zeros_like(modulus)))
        return np.where(modulus == 0, np.zeros((), operand.dtype), direction)
    if not is_float(operand.dtype):
        return np.sign(operand)
    return np.where((operand == 0) | np.isnan(operand), operand, np.sign(operand))


@in_compute_dtype
def round_half_away(operand: Array) -> Array:
    """Return the nearest integer; ties round away from 0."""
    truncated = np.trunc(operand)
    is_up = np.abs(np.subtract(operand, truncated)) >= 0.5
    return np.where(is_up, np.add(truncated, np.copysign(np.ones((), operand.dtype), operand)), truncated)


def power(lhs: Array, rhs: Array) -> Array:
    """Return `lhs` to the power `rhs`. An integer to a negative power is 0, unless it is 1 or -1."""
    if is_complex(lhs.dtype):
        return in_exact_dtype(complex_functions.power)(lhs, rhs)
    if not is_integer(lhs.dtype):
        return in_exact_dtype(np.power)(lhs, rhs)
    return in_compute_dtype(_integer_power)(lhs, rhs)


def _integer_power(lhs: Array, rhs: Array) -> Array:
    if not is_signed(lhs.dtype):
        return np.power(lhs, rhs)
    is_even = np.bitwise_and(rhs, 1) == 0
    inverse = np.where(np.abs(lhs) == 1, np.where(is_even, np.abs(lhs), lhs), np.zeros((), lhs.dtype))
    return np.where(np.less(rhs, 0), inverse, np.power(lhs, np.maximum(rhs, 0)))


def atan2(lhs: Array, rhs: Array) -> Array:
    """Return the angle of the point `(rhs, lhs)`; the analytic continuation for complex numbers."""
    if not is_complex(lhs.dtype):
        return in_exact_dtype(np.arctan2)(lhs, rhs)
    unit = np.array(1j, lhs.dtype)
    point = np.add(rhs, multiply(unit, lhs))
    radius = in_exact_dtype(np.sqrt)(np.add(multiply(lhs, lhs), multiply(rhs, rhs)))
    return multiply(np.negative(unit), in_exact_dtype(np.log)(divide(point, radius)))


@in_exact_dtype
def cube_root(operand: Array) -> Array:
    """Return the cube root; the principal root of a complex number."""
    return complex_functions.cube_root(operand) if is_complex(operand.dtype) else np.cbrt(operand)


@in_exact_dtype
def exponential_minus_one(operand: Array) -> Array:
    """Return `exp(x) - 1`, accurate around 0."""
    return complex_functions.expm1(operand) if is_complex(operand.dtype) else np.expm1(operand)


@in_exact_dtype
def log_plus_one(operand: Array) -> Array:
    """Return `log(1 + x)`, accurate around 0."""
    return complex_functions.log1p(operand) if is_complex(operand.dtype) else np.log1p(operand)


@in_exact_dtype
def rsqrt(operand: Array) -> Array:
    """Return the reciprocal of the square root."""
    root = np.sqrt(operand)
    return complex_functions.divide(np.ones((), root.dtype), root) if is_complex(root.dtype) else np.divide(1, root)


def logistic(operand: Array) -> Array:
    """Return `1 / (1 + exp(-x))`; of complex numbers, each function is rounded to their type."""
    if not is_complex(operand.dtype):
        return in_exact_dtype(_real_logistic)(operand)
    one = np.ones((), operand.dtype)
    return divide(one, np.add(one, in_exact_dtype(np.exp)(np.negative(operand))))


def _real_logistic(operand: Array) -> Array:
    return np.divide(1, np.add(1, np.exp(np.negative(operand))))


def shift_left(lhs: Array, rhs: Array) -> Array:
    """Shift bits left; 0 if the distance is at least the width."""
    return _shifted(np.left_shift, lhs, rhs, signed=False)


def shift_right_arithmetic(lhs: Array, rhs: Array) -> Array:
    """Shift bits right, repeating the sign bit; all sign bits if the distance is at least the width."""
    return _shifted(np.right_shift, lhs, rhs, signed=True)


def shift_right_logical(lhs: Array, rhs: Array) -> Array:
    """Shift bits right, inserting zeros; 0 if the distance is at least the width."""
    return _shifted(np.right_shift, lhs, rhs, signed=False)


def _shifted(shift: np.ufunc, lhs: Array, rhs: Array, *, signed: bool) -> Array:
    """Shift integers of this signedness; distances are unsigned."""
    dtype = lhs.dtype
    width = bit_width(dtype)
    wide_width = bit_width(compute_dtype(dtype))
    kind = np.dtype(f"{'i' if signed else 'u'}{compute_dtype(dtype).itemsize}")
    distance = unsigned_bits(rhs)
    is_out = np.greater_equal(distance, width)
    bits = unsigned_bits(lhs)
    if signed and width < wide_width:
        # Move the sign bit of a narrow integer to the sign bit of the wider one.
        unused = wide_width - width
        bits = np.right_shift(np.left_shift(bits, unused).view(kind), unused)
    last = np.array(width - 1, distance.dtype)
    result = shift(bits.view(kind), np.where(is_out, last, distance).astype(kind))
    if not signed:
        result = np.where(is_out, np.zeros((), kind), result)
    return result.astype(kind).view(compute_dtype(dtype)).astype(dtype)


def unsigned_bits(operand: Array) -> Array:
    """Return the bits of integers as unsigned integers of at least one byte."""
    wide = compute_dtype(operand.dtype)
    bits = np.asarray(operand.astype(wide), order="C").view(np.dtype(f"u{wide.itemsize}"))
    width = bit_width(operand.dtype)
    return bits if width == wide.itemsize * 8 else np.bitwise_and(bits, (1 << width) - 1)


def population_count(operand: Array) -> Array:
    """Return the number of set bits."""
    return np.bitwise_count(unsigned_bits(operand)).astype(operand.dtype)


def count_leading_zeros(operand: Array) -> Array:
    """Return the number of zero bits above the highest set bit."""
    bits = unsigned_bits(operand)
    distance = 1
    while distance < bits.dtype.itemsize * 8:
        bits = np.bitwise_or(bits, np.right_shift(bits, np.array(distance, bits.dtype)))
        distance *= 2
    return np.subtract(bit_width(operand.dtype), np.bitwise_count(bits)).astype(operand.dtype)


def is_finite(operand: Array) -> Array:
    """Return whether each element is neither infinite nor NaN."""
    return np.isfinite(operand.astype(compute_dtype(operand.dtype)))


def clamp(low: Array, operand: Array, high: Array) -> Array:
    """Return `operand` limited to the range from `low` to `high`."""
    return minimum(maximum(operand, low), high)


def _bits(operand: Array) -> Array:
    """Return the bits of floats as signed integers."""
    return operand.view(np.dtype(f"i{operand.dtype.itemsize}"))


def _negative_zero_bits(dtype: DType) -> int:
    return -(1 << (bit_width(dtype) - 1))


def total_order_key(operand: Array) -> Array:
    """Return integers that compare as the floats do in the total order: -NaN, -inf, ..., -0, 0, ..., inf, NaN."""
    bits = _bits(np.asarray(operand.astype(compute_dtype(operand.dtype)), order="C"))
    largest = np.invert(np.array(_negative_zero_bits(bits.dtype), bits.dtype))
    return np.where(np.less(bits, 0), np.bitwise_xor(bits, largest), bits)
