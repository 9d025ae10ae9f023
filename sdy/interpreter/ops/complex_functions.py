"""Functions of complex numbers that NumPy lacks, or computes inaccurately around 0 or at infinities.

Infinities and signed zeros follow C99, annex G, as far as StableHLO's reference interpreter does.
"""

from __future__ import annotations

import numpy as np

from sdy.interpreter.arrays.element_types import Array

_ONE_IS_LOST = 40.0  # adding 1 to `exp` of larger numbers does not change an f64


def expm1(z: Array) -> Array:
    """Return `exp(z) - 1`, accurate around 0."""
    real, imaginary = np.real(z), np.imag(z)
    exponential = np.exp(z)
    sine = np.sin(imaginary / 2)
    near = np.expm1(real) * np.cos(imaginary) - 2 * sine * sine
    is_near = np.less(np.abs(real), _ONE_IS_LOST) & np.isfinite(imaginary)
    return _of_parts(np.where(is_near, near, np.real(exponential) - 1), np.imag(exponential))


def log1p(z: Array) -> Array:
    """Return `log(1 + z)`, accurate around 0."""
    real, imaginary = np.real(z), np.imag(z)
    logarithm = np.log(_of_parts(1 + real, imaginary))
    is_near = np.less(np.abs(real), 0.5) & np.less(np.abs(imaginary), 0.5)
    square_minus_1 = real * (2 + real) + imaginary * imaginary  # of the modulus of 1 + z
    near = np.log1p(np.where(is_near, square_minus_1, 0)) / 2
    return _of_parts(np.where(is_near, near, np.real(logarithm)), np.imag(logarithm))


def reciprocal(z: Array) -> Array:
    """Return `1 / z`; a zero if either part is infinite, and NaN for 0."""
    real, imaginary = np.real(z), np.imag(z)
    quotient = np.divide(1, z)
    is_infinite = np.isinf(real) | np.isinf(imaginary)
    return _of_parts(
        np.where(is_infinite, np.copysign(0, real), np.real(quotient)),
        np.where(is_infinite, np.negative(np.copysign(0, imaginary)), np.imag(quotient)),
    )


def cube_root(z: Array) -> Array:
    """Return the principal cube root, whose angle is a third of that of `z`."""
    radius, angle = np.cbrt(np.abs(z)), np.arctan2(np.imag(z), np.real(z)) / 3
    return _of_parts(radius * np.cos(angle), radius * np.sin(angle))


def _of_parts(real: Array, imaginary: Array) -> Array:
    """Return complex numbers without arithmetic, so that infinities and signed zeros stay in their part."""
    result = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    result.real, result.imag = real, imaginary
    return result
