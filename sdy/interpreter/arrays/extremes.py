"""Maxima and minima of several elements, with the signs of zeros that IEEE 754 and so StableHLO define."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sdy.interpreter.arrays.element_types import Array, is_float


def with_signs_of_zeros(ufunc: np.ufunc, found: Array, array: Array, is_any: Callable[[Array], Array]) -> Array:
    """Return what NumPy found by folding `array` with `ufunc`, with the right signs of zeros.

    0 is larger than -0, but NumPy takes them for equal: its maximum and minimum of both are either. `is_any` tells for
    each element that was found whether a mask is true for any of those that it is folded from.
    """
    if ufunc not in (np.maximum, np.minimum) or not is_float(found.dtype):
        return found
    is_zero = found == 0
    if not is_zero.any():
        return found
    is_minimum = ufunc is np.minimum
    preferred, other = (np.array(each, found.dtype) for each in ((-0.0, 0.0) if is_minimum else (0.0, -0.0)))
    is_preferred = is_any((array == 0) & (np.signbit(array) == is_minimum))
    return np.where(is_zero, np.where(is_preferred, preferred, other), found)


def extreme(ufunc: np.ufunc, array: Array, axes: tuple[int, ...]) -> Array:
    """Return the maximum or the minimum along `axes`, which stay as dims of size 1."""
    found = np.asarray(ufunc.reduce(array, axis=axes, keepdims=True))
    return with_signs_of_zeros(ufunc, found, array, lambda mask: np.any(mask, axis=axes, keepdims=True))
