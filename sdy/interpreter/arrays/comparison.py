"""Compare arrays: equal, almost equal, or close in units of the last place; find the first mismatch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdy.interpreter.arrays.element_types import Array, bit_width, compute_dtype, is_complex, is_float

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first index, in row-major order, at which arrays differ, the number of such indices, and both values."""

    index: tuple[int, ...]
    count: int
    actual: Array
    expected: Array


def mismatch(actual: Array, expected: Array, agree: Bools) -> Mismatch | None:
    """Return the first element where `agree` is false; None if it is true everywhere."""
    if agree.all():
        return None
    position = int(np.flatnonzero(~agree.reshape(-1))[0])
    index = tuple(int(number) for number in np.unravel_index(position, agree.shape))
    values = (np.broadcast_to(array, agree.shape)[index] for array in (actual, expected))
    return Mismatch(index, int(np.count_nonzero(~agree)), *(np.asarray(value) for value in values))


def equal(actual: Array, expected: Array) -> Bools:
    """Return for each element whether the values are equal, or both NaN."""
    left, right = _computable(actual), _computable(expected)
    same = np.equal(left, right)
    if is_float(left.dtype) or is_complex(left.dtype):
        same = same | (np.isnan(left) & np.isnan(right))
    return np.asarray(same)


def almost_equal(actual: Array, expected: Array, tolerance: float) -> Bools:
    """Return for each element whether the values are equal, or differ by at most `tolerance` in both complex parts.

    The tolerance is absolute for expected values up to 1, and relative to larger ones: the results of narrow floats
    have no more digits.
    """
    if is_complex(actual.dtype):
        return almost_equal(np.real(actual), np.real(expected), tolerance) & almost_equal(
            np.imag(actual), np.imag(expected), tolerance
        )
    if not is_float(actual.dtype):
        return equal(actual, expected)
    with np.errstate(invalid="ignore"):  # infinity minus infinity is NaN, but equal() accepts it
        distance = np.abs(np.subtract(actual.astype(np.float64), expected.astype(np.float64)))
        allowed = tolerance * np.maximum(1.0, np.abs(expected.astype(np.float64)))
    return np.asarray(equal(actual, expected) | (distance <= allowed) & np.isfinite(allowed))


def ulp_distance(actual: Array, expected: Array) -> NDArray[np.float64]:
    """Return for each element the distance in units of the last place; infinite if only one value is NaN.

    Complex values take the larger distance of their parts; integers and booleans give 0 or infinity.
    """
    if is_complex(actual.dtype):
        return np.maximum(
            ulp_distance(np.real(actual), np.real(expected)), ulp_distance(np.imag(actual), np.imag(expected))
        )
    if not is_float(actual.dtype):
        return np.where(equal(actual, expected), 0.0, np.inf)
    left, right = _ordinal(actual), _ordinal(expected)
    # Unsigned, since floats of opposite sign may be farther apart than an i64 can count.
    steps = np.where(
        left > right, left.view(np.uint64) - right.view(np.uint64), right.view(np.uint64) - left.view(np.uint64)
    )
    wide_left, wide_right = _computable(actual), _computable(expected)
    one_is_nan = np.isnan(wide_left) != np.isnan(wide_right)
    both_are_nan = np.isnan(wide_left) & np.isnan(wide_right)
    return np.where(one_is_nan, np.inf, np.where(both_are_nan, 0.0, steps.astype(np.float64)))


def _ordinal(array: Array) -> NDArray[np.int64]:
    """Return integers that number the floats of the format in order; both zeros are 0."""
    bits = np.asarray(array, order="C").view(np.dtype(f"i{array.dtype.itemsize}")).astype(np.int64)
    width = bit_width(array.dtype)
    magnitude = bits & ((1 << (width - 1)) - 1)
    is_negative = (bits >> (width - 1)) & 1 == 1
    return np.where(is_negative, -magnitude, magnitude)


def _computable(array: Array) -> Array:
    return array.astype(compute_dtype(array.dtype), copy=False)
