"""Functions of complex numbers that NumPy lacks, or computes inaccurately around 0 or at infinities.

Infinities and signed zeros follow C99, annex G, as far as StableHLO's reference interpreter does. NumPy's own products
and moduli are avoided: it may fuse operations, so that the last bits, and all bits of a difference that cancels, depend
on the processor.
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
    return of_parts(np.where(is_near, near, np.real(exponential) - 1), np.imag(exponential))


def log1p(z: Array) -> Array:
    """Return `log(1 + z)`, accurate around 0."""
    real, imaginary = np.real(z), np.imag(z)
    logarithm = np.log(of_parts(1 + real, imaginary))
    is_near = np.less(np.abs(real), 0.5) & np.less(np.abs(imaginary), 0.5)
    square_minus_1 = real * (2 + real) + imaginary * imaginary  # of the modulus of 1 + z
    near = np.log1p(np.where(is_near, square_minus_1, 0)) / 2
    return of_parts(np.where(is_near, near, np.real(logarithm)), np.imag(logarithm))


def multiply(lhs: Array, rhs: Array) -> Array:
    """Return the product, each of whose operations is rounded to the type of the parts."""
    a, b, c, d = np.real(lhs), np.imag(lhs), np.real(rhs), np.imag(rhs)
    return of_parts(a * c - b * d, a * d + b * c)


def divide(lhs: Array, rhs: Array) -> Array:
    """Return the quotient by Smith's method, which scales by the larger part of `rhs` to avoid overflow.

    A number divided by 0 is infinite, a finite number divided by an infinite one is 0.
    """
    a, b, c, d = np.real(lhs), np.imag(lhs), np.real(rhs), np.imag(rhs)
    is_steep = np.less(np.abs(c), np.abs(d))
    ratio = np.where(is_steep, c / d, d / c)
    scale = np.where(is_steep, c * ratio + d, d * ratio + c)
    real = np.where(is_steep, a * ratio + b, b * ratio + a) / scale
    imaginary = np.where(is_steep, b * ratio - a, b - a * ratio) / scale
    quotient = of_parts(real, imaginary)
    is_lost = np.isnan(real) & np.isnan(imaginary)
    return np.where(is_lost, _quotient_at_limits(lhs, rhs), quotient) if is_lost.any() else quotient


def _quotient_at_limits(lhs: Array, rhs: Array) -> Array:
    """Return the quotient with infinite numbers taken as directions; NaN if neither is infinite and `rhs` is not 0."""
    a, b, c, d = np.real(lhs), np.imag(lhs), np.real(rhs), np.imag(rhs)
    infinity = np.copysign(np.array(np.inf, c.dtype), c)
    by_zero = of_parts(infinity * a, infinity * b)
    is_infinite = np.isinf(lhs) & np.isfinite(rhs)
    by_infinite = np.isfinite(lhs) & np.isinf(rhs)
    a, b = (np.where(is_infinite, _unit_of_infinity(part), part) for part in (a, b))
    c, d = (np.where(by_infinite, _unit_of_infinity(part), part) for part in (c, d))
    size = np.where(is_infinite, np.inf, np.where(by_infinite, 0.0, np.nan)).astype(a.dtype)
    return np.where(rhs == 0, by_zero, of_parts(size * (a * c + b * d), size * (b * c - a * d)))


def power(lhs: Array, rhs: Array) -> Array:
    """Return `exp(rhs * log(lhs))`, where the product of an infinite number and another one is infinite."""
    logarithm = np.log(lhs)
    product = multiply(rhs, logarithm)
    is_lost = np.isnan(np.real(product)) & np.isnan(np.imag(product))
    if is_lost.any():
        product = np.where(is_lost, _infinite_product(rhs, logarithm), product)
    return np.exp(product)


def _infinite_product(lhs: Array, rhs: Array) -> Array:
    """Return the product with infinite numbers taken as directions; NaN if none is infinite, nor a product of parts."""
    a, b, c, d = np.real(lhs), np.imag(lhs), np.real(rhs), np.imag(rhs)
    left, right = np.isinf(lhs), np.isinf(rhs)
    overflows = np.logical_or.reduce([np.isinf(part) for part in (a * c, b * d, a * d, b * c)])
    a, b = (np.where(left, _unit_of_infinity(part), part) for part in (a, b))
    c, d = (np.where(right, _unit_of_infinity(part), part) for part in (c, d))
    a, b, c, d = (np.where(np.isnan(part), np.copysign(0, part), part) for part in (a, b, c, d))
    size = np.where(np.logical_or(left, right) | overflows, np.inf, np.nan)
    return of_parts(size * (a * c - b * d), size * (a * d + b * c))


def maximum(lhs: Array, rhs: Array) -> Array:
    """Return the larger number in lexicographic order; `rhs` if a NaN decides."""
    return np.where(_is_less(rhs, lhs), lhs, rhs)


def minimum(lhs: Array, rhs: Array) -> Array:
    """Return the smaller number in lexicographic order; `rhs` if a NaN decides."""
    return np.where(_is_less(lhs, rhs), lhs, rhs)


def absolute(z: Array) -> Array:
    """Return the modulus."""
    return np.hypot(np.real(z), np.imag(z))


def _is_less(lhs: Array, rhs: Array) -> Array:
    a, b, c, d = np.real(lhs), np.imag(lhs), np.real(rhs), np.imag(rhs)
    return np.less(a, c) | ((a == c) & np.less(b, d))


def _unit_of_infinity(part: Array) -> Array:
    """Return 1 for infinities and 0 for other numbers, with their sign."""
    return np.copysign(np.isinf(part).astype(part.dtype), part)


def cube_root(z: Array) -> Array:
    """Return the principal cube root, whose angle is a third of that of `z`."""
    radius, angle = np.cbrt(np.abs(z)), np.arctan2(np.imag(z), np.real(z)) / 3
    return of_parts(radius * np.cos(angle), radius * np.sin(angle))


def of_parts(real: Array, imaginary: Array) -> Array:
    """Return complex numbers without arithmetic, so that infinities and signed zeros stay in their part."""
    result = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    result.real, result.imag = real, imaginary
    return result
