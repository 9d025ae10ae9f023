"""Arithmetic on elements as StableHLO defines it, where NumPy's differs: integers, signed zeros, narrow types.

All functions take arrays of one dtype and give arrays of this dtype, unless they say otherwise.
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

Compute = Callable[..., Array]


def in_compute_dtype(function: Compute) -> Compute:
    """`function` on the wider dtype in which this dtype is computed, rounded or wrapped back."""

    def compute(*arrays: Array) -> Array:
        dtype = arrays[0].dtype
        wide = compute_dtype(dtype)
        if wide == dtype:
            return function(*arrays)
        return function(*[array.astype(wide) for array in arrays]).astype(dtype)

    return compute


def in_exact_dtype(function: Compute) -> Compute:
    """`function` on a dtype so wide that only the last rounding counts; integers stay what they are."""

    def compute(*arrays: Array) -> Array:
        dtype = arrays[0].dtype
        wide = exact_dtype(dtype)
        if wide == dtype:
            return function(*arrays)
        return function(*[array.astype(wide) for array in arrays]).astype(dtype)

    return compute


@in_compute_dtype
def add(lhs: Array, rhs: Array) -> Array:
    """Sum; logical or of bools."""
    return np.add(lhs, rhs)


@in_compute_dtype
def subtract(lhs: Array, rhs: Array) -> Array:
    """Difference."""
    return np.subtract(lhs, rhs)


@in_compute_dtype
def multiply(lhs: Array, rhs: Array) -> Array:
    """Product; logical and of bools."""
    return np.multiply(lhs, rhs)


@in_compute_dtype
def divide(lhs: Array, rhs: Array) -> Array:
    """Quotient. Of integers it is rounded toward 0; over 0 it is -1, or all ones."""
    if not is_integer(lhs.dtype):
        return np.divide(lhs, rhs)
    by_zero = rhs == 0
    divisor = np.where(by_zero, np.ones((), rhs.dtype), rhs)
    quotient = np.floor_divide(np.subtract(lhs, np.fmod(lhs, divisor)), divisor)
    return np.where(by_zero, np.invert(np.zeros((), lhs.dtype)), quotient)


@in_compute_dtype
def remainder(lhs: Array, rhs: Array) -> Array:
    """What rounding the quotient toward 0 leaves, with the sign of `lhs`; of an integer over 0, the integer."""
    if not is_integer(lhs.dtype):
        return np.fmod(lhs, rhs)
    by_zero = rhs == 0
    return np.where(by_zero, lhs, np.fmod(lhs, np.where(by_zero, np.ones((), rhs.dtype), rhs)))


@in_compute_dtype
def maximum(lhs: Array, rhs: Array) -> Array:
    """The larger; NaN where either is, and 0 over -0."""
    result = np.maximum(lhs, rhs)
    if not is_float(result.dtype):
        return result
    doubtful = _bits(result) == _negative_zero_bits(result.dtype)
    if doubtful.any():
        # The sum of two zeros is -0 only where both are; no other number is the smaller of -0 and itself.
        result = np.where(doubtful & (lhs == rhs), np.add(lhs, rhs), result)
    return result


@in_compute_dtype
def minimum(lhs: Array, rhs: Array) -> Array:
    """The smaller; NaN where either is, and -0 over 0."""
    result = np.minimum(lhs, rhs)
    if not is_float(result.dtype):
        return result
    doubtful = _bits(result) == 0
    if doubtful.any():
        result = np.where(doubtful & (lhs == rhs), np.negative(np.add(np.negative(lhs), np.negative(rhs))), result)
    return result


@in_compute_dtype
def bitwise_and(lhs: Array, rhs: Array) -> Array:
    """And of all bits."""
    return np.bitwise_and(lhs, rhs)


@in_compute_dtype
def bitwise_or(lhs: Array, rhs: Array) -> Array:
    """Or of all bits."""
    return np.bitwise_or(lhs, rhs)


@in_compute_dtype
def bitwise_xor(lhs: Array, rhs: Array) -> Array:
    """Exclusive or of all bits."""
    return np.bitwise_xor(lhs, rhs)


@in_compute_dtype
def bitwise_not(operand: Array) -> Array:
    """Complement of all bits."""
    return np.invert(operand)


@in_compute_dtype
def negate(operand: Array) -> Array:
    """The number with the other sign, wrapped where it has none."""
    return np.negative(operand)


def absolute(operand: Array) -> Array:
    """Magnitude; a complex array gives the array of its moduli."""
    return np.abs(operand) if is_complex(operand.dtype) else in_compute_dtype(np.abs)(operand)


@in_compute_dtype
def sign(operand: Array) -> Array:
    """-1, 0 or 1; 0 with its own sign, NaN of NaN. Of a complex number, the number over its modulus."""
    if is_complex(operand.dtype):
        modulus = np.abs(operand)
        return np.where(modulus == 0, operand, np.divide(operand, np.where(modulus == 0, 1, modulus))).astype(
            operand.dtype
        )
    if not is_float(operand.dtype):
        return np.sign(operand)
    return np.where((operand == 0) | np.isnan(operand), operand, np.sign(operand))


@in_compute_dtype
def round_half_away(operand: Array) -> Array:
    """The nearest integer, the one farther from 0 where two are."""
    whole = np.trunc(operand)
    is_up = np.abs(np.subtract(operand, whole)) >= 0.5
    return np.where(is_up, np.add(whole, np.copysign(np.ones((), operand.dtype), operand)), whole)


def power(lhs: Array, rhs: Array) -> Array:
    """`lhs` to the power `rhs`. An integer to a negative power is 0, unless it is 1 or -1."""
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
    """The angle of the point `(rhs, lhs)`; of complex numbers, the analytic continuation."""
    if not is_complex(lhs.dtype):
        return in_exact_dtype(np.arctan2)(lhs, rhs)
    return in_exact_dtype(_complex_atan2)(lhs, rhs)


def _complex_atan2(lhs: Array, rhs: Array) -> Array:
    point = np.add(rhs, np.multiply(1j, lhs))
    radius = np.sqrt(np.add(np.multiply(lhs, lhs), np.multiply(rhs, rhs)))
    return np.multiply(-1j, np.log(np.divide(point, radius)))


def cube_root(operand: Array) -> Array:
    """Cube root; the principal one of a complex number."""
    if not is_complex(operand.dtype):
        return in_exact_dtype(np.cbrt)(operand)
    return in_exact_dtype(np.power)(operand, np.full((), 1 / 3, operand.dtype))


@in_exact_dtype
def rsqrt(operand: Array) -> Array:
    """One over the square root."""
    return np.divide(1, np.sqrt(operand))


@in_exact_dtype
def logistic(operand: Array) -> Array:
    """`1 / (1 + exp(-x))`."""
    return np.divide(1, np.add(1, np.exp(np.negative(operand))))


def shift_left(lhs: Array, rhs: Array) -> Array:
    """Bits moved up; 0 where the distance is the width or more."""
    return _shifted(np.left_shift, lhs, rhs, signed=False)


def shift_right_arithmetic(lhs: Array, rhs: Array) -> Array:
    """Bits moved down, the sign bit repeated; all sign bits where the distance is the width or more."""
    return _shifted(np.right_shift, lhs, rhs, signed=True)


def shift_right_logical(lhs: Array, rhs: Array) -> Array:
    """Bits moved down, zeros moved in; 0 where the distance is the width or more."""
    return _shifted(np.right_shift, lhs, rhs, signed=False)


def _shifted(shift: np.ufunc, lhs: Array, rhs: Array, *, signed: bool) -> Array:
    """The shift in integers of this signedness; a distance is unsigned."""
    dtype = lhs.dtype
    width = bit_width(dtype)
    wide_width = bit_width(compute_dtype(dtype))
    kind = np.dtype(f"{'i' if signed else 'u'}{compute_dtype(dtype).itemsize}")
    distance = unsigned_bits(rhs)
    is_out = np.greater_equal(distance, width)
    bits = unsigned_bits(lhs)
    if signed and width < wide_width:
        # Moves the sign bit of a narrow integer to where the wider one has its own.
        unused = wide_width - width
        bits = np.right_shift(np.left_shift(bits, unused).view(kind), unused)
    last = np.array(width - 1, distance.dtype)
    result = shift(bits.view(kind), np.where(is_out, last, distance).astype(kind))
    if not signed:
        result = np.where(is_out, np.zeros((), kind), result)
    return result.astype(kind).view(compute_dtype(dtype)).astype(dtype)


def unsigned_bits(operand: Array) -> Array:
    """The bits of integers, as unsigned integers of at least a byte."""
    wide = compute_dtype(operand.dtype)
    bits = np.asarray(operand.astype(wide), order="C").view(np.dtype(f"u{wide.itemsize}"))
    width = bit_width(operand.dtype)
    return bits if width == wide.itemsize * 8 else np.bitwise_and(bits, (1 << width) - 1)


def population_count(operand: Array) -> Array:
    """How many bits are set."""
    return np.bitwise_count(unsigned_bits(operand)).astype(operand.dtype)


def count_leading_zeros(operand: Array) -> Array:
    """How many bits above the highest set bit are not set."""
    bits = unsigned_bits(operand)
    distance = 1
    while distance < bits.dtype.itemsize * 8:
        bits = np.bitwise_or(bits, np.right_shift(bits, np.array(distance, bits.dtype)))
        distance *= 2
    return np.subtract(bit_width(operand.dtype), np.bitwise_count(bits)).astype(operand.dtype)


def is_finite(operand: Array) -> Array:
    """Neither infinite nor NaN, as an array of bools."""
    return np.isfinite(operand.astype(compute_dtype(operand.dtype)))


def clamp(low: Array, operand: Array, high: Array) -> Array:
    """`operand`, but at least `low` and at most `high`."""
    return minimum(maximum(operand, low), high)


def _bits(operand: Array) -> Array:
    """The bits of floats as signed integers."""
    return operand.view(np.dtype(f"i{operand.dtype.itemsize}"))


def _negative_zero_bits(dtype: DType) -> int:
    return -(1 << (bit_width(dtype) - 1))


def total_order_key(operand: Array) -> Array:
    """Integers that compare as the floats do in the total order: -NaN, -inf, ..., -0, 0, ..., inf, NaN."""
    bits = _bits(np.asarray(operand.astype(compute_dtype(operand.dtype)), order="C"))
    largest = np.invert(np.array(_negative_zero_bits(bits.dtype), bits.dtype))
    return np.where(np.less(bits, 0), np.bitwise_xor(bits, largest), bits)
