"""Whether two runs of a program agree, output by output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdy.interpreter.arrays.element_types import Array, DType, is_complex, is_float

Floats = NDArray[np.float64]

# How far two results of one computation may lie apart that differ in the order of their sums.
RELATIVE_TOLERANCE = {8: 1e-8, 4: 1e-4, 2: 2e-2, 1: 2e-1}  # by bytes of a real element
ABSOLUTE_SHARE = 0.1  # of the relative tolerance, times the largest element


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """One output against what it should be. Errors are the largest over all elements."""

    index: int
    absolute_error: float
    relative_error: float  # of elements that count: not lost in the noise of larger ones
    agrees: bool
    problem: str = ""


def compare(index: int, actual: Array, expected: Array) -> OutputComparison:
    """Compare one output. NaN equals NaN, of complex numbers in each part; integers and booleans must be equal."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        problem = f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
        return OutputComparison(index, float("inf"), float("inf"), agrees=False, problem=problem)
    error, magnitude = _error(actual, expected)
    relative, absolute = _tolerances(actual.dtype, magnitude)
    allowed = absolute + relative * np.where(np.isfinite(magnitude), magnitude, 0.0)
    counting = magnitude > (absolute / relative if relative else 0.0)
    # Where an infinity is wanted and missing, no ratio says by how much.
    ratios = np.divide(error, magnitude, out=np.full(error.shape, np.inf), where=np.isfinite(magnitude) & counting)
    relative_error = _largest(np.where(error == 0, 0.0, ratios)[counting])
    problem = "" if bool(np.all(error <= allowed)) else _first_difference(actual, expected, error > allowed)
    return OutputComparison(index, _largest(error), relative_error, agrees=not problem, problem=problem)


def _error(actual: Array, expected: Array) -> tuple[Floats, Floats]:
    """How far each element is off, and how large it should be; parts that are the same infinity or NaN aside."""
    if is_complex(actual.dtype):
        parts = [_error(part(actual), part(expected)) for part in (np.real, np.imag)]
        error, magnitude = (np.hypot(*pair) for pair in zip(*parts, strict=True))
        return error, magnitude
    ours, theirs = actual.astype(np.float64), expected.astype(np.float64)
    same = (actual == expected) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        error = np.abs(ours - theirs)
    if not is_float(actual.dtype):
        error = np.maximum(error, 1.0)  # large integers that differ may be the same float
    error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
    return error, np.where(same & ~np.isfinite(theirs), 0.0, np.abs(theirs))


def _tolerances(dtype: DType, magnitude: Array) -> tuple[float, float]:
    if not (is_float(dtype) or is_complex(dtype)):
        return 0.0, 0.0
    relative = RELATIVE_TOLERANCE[dtype.itemsize // (2 if is_complex(dtype) else 1)]
    finite = magnitude[np.isfinite(magnitude)]
    return relative, relative * ABSOLUTE_SHARE * _largest(finite)


def _largest(values: Array) -> float:
    return float(np.max(values)) if values.size else 0.0


def _first_difference(actual: Array, expected: Array, differs: Array) -> str:
    place = tuple(int(index) for index in np.argwhere(differs)[0])
    where = f"at {list(place)}: " if place else ""
    return f"{where}{actual[place]} instead of {expected[place]}"
