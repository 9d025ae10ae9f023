"""The errors between two arrays that should be equal, and how much of them rounding explains."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdy.interpreter.arrays.element_types import Array, DType, is_complex, is_float

FloatArray = NDArray[np.float64]

# Two runs may add the same numbers in different orders; these tolerances allow for the rounding errors.
RELATIVE_TOLERANCE = {8: 1e-8, 4: 1e-4, 2: 2e-2, 1: 2e-1}  # by bytes of a real element
ABSOLUTE_SHARE = 0.1  # the absolute tolerance is this, times the relative tolerance, times the largest element


def errors(actual: Array, expected: Array) -> tuple[FloatArray, FloatArray]:
    """Return the error of each element and the magnitude of its expected value.

    Both are 0 where the two elements are the same infinity or NaN.
    """
    if is_complex(actual.dtype):
        parts = [errors(part(actual), part(expected)) for part in (np.real, np.imag)]
        error, magnitude = (np.hypot(*pair) for pair in zip(*parts, strict=True))
        return error, magnitude
    actual_floats, expected_floats = actual.astype(np.float64), expected.astype(np.float64)
    same = (actual == expected) | (np.isnan(actual_floats) & np.isnan(expected_floats))
    with np.errstate(invalid="ignore"):
        error = np.abs(actual_floats - expected_floats)
    if not is_float(actual.dtype):
        error = np.maximum(error, 1.0)  # different large integers may be equal as floats
    error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
    return error, np.where(same & ~np.isfinite(expected_floats), 0.0, np.abs(expected_floats))


def allowed_error(dtype: DType, magnitude: Array) -> FloatArray:
    """Return how much each element may differ from an expected value of this magnitude because of rounding."""
    relative, absolute = tolerances(dtype, magnitude)
    return absolute + relative * np.where(np.isfinite(magnitude), magnitude, 0.0)


def tolerances(dtype: DType, magnitude: Array) -> tuple[float, float]:
    """Return the relative and the absolute tolerance."""
    if not (is_float(dtype) or is_complex(dtype)):
        return 0.0, 0.0
    relative = RELATIVE_TOLERANCE[dtype.itemsize // (2 if is_complex(dtype) else 1)]
    finite = magnitude[np.isfinite(magnitude)]
    return relative, relative * ABSOLUTE_SHARE * largest(finite)


def largest(values: Array) -> float:
    """Return the largest of some values; 0 if there are none."""
    return float(np.max(values)) if values.size else 0.0


def first_difference(actual: Array, expected: Array, differs: Array) -> str:
    """Describe the first element, in row-major order, at which `differs` is true."""
    position = tuple(int(index) for index in np.argwhere(differs)[0])
    where = f"at {list(position)}: " if position else ""
    return f"{where}{actual[position]} instead of {expected[position]}"
