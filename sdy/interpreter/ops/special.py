"""Special functions of real numbers, accurate to f64.

The error function is a Taylor series around 0, and its tail a Chebyshev series through the values of Python's `math`.
The gamma functions shift their argument up to where asymptotic series with Bernoulli numbers are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.polynomial.chebyshev import Chebyshev
from numpy.typing import NDArray

Reals = NDArray[np.float64]

_LARGEST_ERFC = 27.0  # erfc of larger arguments is below the smallest f64
_SHIFT = 10  # for larger arguments the asymptotic series are exact to f64
_TERMS = 12
_TAYLOR_TERMS = 20  # of erf, up to 1


def erf(x: Reals) -> Reals:
    """Return the error function."""
    near = np.abs(x) < 1
    small = np.where(near, x, 0.0)
    large = np.where(near, 1.0, np.abs(x))
    tail = np.copysign(1.0 - _erfc_tail(large), x)
    result = np.where(near, small * _erf_over_x(small * small), tail)
    return np.where(np.isnan(x), x, result)


def erfc(x: Reals) -> Reals:
    """Return one minus the error function, accurate also where the error function is close to 1."""
    near = np.abs(x) < 1
    tail = _erfc_tail(np.where(near, 1.0, np.abs(x)))
    result = np.where(near, 1.0 - erf(np.where(near, x, 0.0)), np.where(np.less(x, 0), 2.0 - tail, tail))
    return np.where(np.isnan(x), x, result)


def erf_inv(x: Reals) -> Reals:
    """Return the inverse of the error function; infinite at -1 and 1, NaN outside."""
    rest = 1.0 - np.abs(x)
    inside = np.where(rest > 0, rest, 0.5)
    # The first guess has 2 correct digits; each step of Halley's method triples them.
    log = np.log(inside * (2.0 - inside))
    middle = 2.0 / (math.pi * 0.147) + log / 2.0
    y = np.sqrt(np.sqrt(middle * middle - log / 0.147) - middle)
    for _ in range(4):
        error = np.where(y < 0.5, np.abs(np.where(rest > 0, x, 0.5)) - erf(y), erfc(y) - inside)
        slope = 2.0 / math.sqrt(math.pi) * np.exp(-y * y)
        y = y + error / (slope + y * error)
    result = np.where(rest > 0, y, np.where(rest == 0, np.inf, np.nan))
    return np.where(x == 0, x, np.copysign(result, x))


def lgamma(x: Reals) -> Reals:
    """Return the logarithm of the magnitude of gamma; infinite at 0 and the negative integers."""
    is_low = np.less(x, 0.5)
    upper = np.where(is_low, 1.0 - x, x)
    shifted = np.maximum(upper, 0.5)
    product = np.ones_like(shifted)
    for _ in range(_SHIFT):
        step = shifted < _SHIFT
        product = np.where(step, product * shifted, product)
        shifted = np.where(step, shifted + 1.0, shifted)
    series = sum(_bernoulli(2 * k) / (2 * k * (2 * k - 1)) / shifted ** (2 * k - 1) for k in range(1, _TERMS))
    value = (shifted - 0.5) * np.log(shifted) - shifted + 0.5 * math.log(2 * math.pi) + series - np.log(product)
    value = np.where((upper == 1.0) | (upper == 2.0), 0.0, value)  # the zeros, where the terms only almost cancel
    # Reflect about the nearest integer, so that the sine keeps its digits.
    distance = np.abs(x - np.rint(x))
    mirrored = np.log(math.pi / np.abs(np.sin(math.pi * distance))) - value
    result = np.where(is_low, mirrored, value)
    return np.where(np.isinf(x), np.inf, result)


def digamma(x: Reals) -> Reals:
    """Return the derivative of the logarithm of gamma; NaN at 0 and the negative integers."""
    is_low = np.less(x, 0.5)
    shifted = np.where(is_low, 1.0 - x, x)
    total = np.zeros_like(shifted)
    for _ in range(_SHIFT):
        step = shifted < _SHIFT
        total = np.where(step, total - 1.0 / shifted, total)
        shifted = np.where(step, shifted + 1.0, shifted)
    series = sum(_bernoulli(2 * k) / (2 * k) / shifted ** (2 * k) for k in range(1, _TERMS))
    value = np.log(shifted) - 0.5 / shifted - series + total
    fraction = x - np.rint(x)
    mirrored = value - math.pi / np.tan(math.pi * fraction)
    return np.where(is_low, np.where(fraction == 0, np.nan, mirrored), value)


def zeta(x: Reals, q: Reals) -> Reals:
    """Return Hurwitz's zeta function, the sum of `(q + k) ** -x` over k >= 0; NaN if it does not converge."""
    x, q = np.broadcast_arrays(x, q)
    total = np.zeros_like(x)
    for k in range(_SHIFT):
        total = total + (q + k) ** -x
    shifted = q + _SHIFT
    total = total + shifted ** (1.0 - x) / (x - 1.0) + 0.5 * shifted**-x
    factor = x * shifted ** (-x - 1.0)
    for k in range(1, _TERMS):
        total = total + _bernoulli(2 * k) / math.factorial(2 * k) * factor
        factor = factor * (x + 2 * k - 1) * (x + 2 * k) / (shifted * shifted)
    is_pole = np.less_equal(q, 0) & (q == np.floor(q))
    is_undefined = np.less(x, 1) | (np.less_equal(q, 0) & (x != np.floor(x)) & ~is_pole)
    result = np.where(is_pole, np.where(np.floor(x / 2) * 2 == x, np.inf, np.nan), total)
    return np.where(is_undefined, np.nan, np.where(x == 1, np.inf, result))


def polygamma(n: Reals, x: Reals) -> Reals:
    """Return the derivative of order `n` of digamma; NaN if `n` is not a natural number."""
    order = np.where(np.isfinite(n), n, 0.0)
    factorial = np.exp(lgamma(order + 1.0))
    value = np.where(np.fmod(order, 2.0) == 0, -1.0, 1.0) * factorial * zeta(order + 1.0, x)
    value = np.where(order == 0, digamma(x), value)
    return np.where(np.less(n, 0) | (n != np.floor(n)), np.nan, value)


def bessel_i1e(x: Reals) -> Reals:
    """Return the modified Bessel function of order 1, times `exp(-|x|)`."""
    size = np.abs(x)
    is_small = size < 30
    half = np.where(is_small, size, 1.0) / 2.0
    term = half.copy()
    total = term.copy()
    for k in range(1, 80):
        term = term * half * half / (k * (k + 1))
        total = total + term
    near = total * np.exp(-2.0 * half)
    large = np.where(is_small, 30.0, size)
    term = np.ones_like(large)
    far = term.copy()
    for k in range(1, 20):
        term = term * -(4.0 - (2 * k - 1) ** 2) / (k * 8.0 * large)
        far = far + term
    far = far / np.sqrt(2 * math.pi * large)
    return np.copysign(np.where(np.isinf(size), 0.0, np.where(is_small, near, far)), x)


def _erfc_tail(x: Reals) -> Reals:
    """Return erfc of numbers that are at least 1."""
    inside = np.minimum(x, _LARGEST_ERFC)
    # The square is rounded; its error, computed from the halves of the factors, enters the exponential too.
    high = np.rint(inside * 2.0**20) / 2.0**20
    exponential = np.exp(-high * high) * np.exp(-(inside - high) * (inside + high))
    value = exponential / inside * _erfc_scaled()(1.0 / (inside * inside))
    return np.where(x > _LARGEST_ERFC, 0.0, value)


def _erf_over_x(square: Reals) -> Reals:
    """Return `erf(x) / x` as a function of `x ** 2` up to 1, by its Taylor series."""
    result = square * 0.0
    for n in reversed(range(_TAYLOR_TERMS)):
        result = result * square + (-1) ** n / (math.factorial(n) * (2 * n + 1))
    return 2.0 / math.sqrt(math.pi) * result


@cache
def _erfc_scaled() -> Chebyshev:
    """Return the series of `erfc(x) * x * exp(x ** 2)` as a function of `1 / x ** 2` for x of at least 1."""
    return _interpolated(_scaled_tail, _LARGEST_ERFC**-2, 1.0, 40)


def _scaled_tail(t: float) -> float:
    x = 1.0 / math.sqrt(t)
    square = Fraction(x) ** 2  # exact: an error in the exponent becomes a relative error of the result
    integral = math.floor(square)
    return math.erfc(x) * x * math.exp(integral) * math.exp(float(square - integral))


def _interpolated(function: Callable[[float], float], low: float, high: float, degree: int) -> Chebyshev:
    """Return the interpolation polynomial; the coefficients are sums that are rounded once."""
    count = degree + 1
    angles = [math.pi * (k + 0.5) / count for k in range(count)]
    values = [function(low + (high - low) * (1.0 + math.cos(angle)) / 2.0) for angle in angles]
    sums = [
        math.fsum(value * math.cos(j * angle) for value, angle in zip(values, angles, strict=True))
        for j in range(count)
    ]
    return Chebyshev([(1.0 if j == 0 else 2.0) * each / count for j, each in enumerate(sums)], domain=[low, high])


@cache
def _bernoulli(index: int) -> float:
    """Return the Bernoulli number of this index."""
    return float(_bernoulli_fraction(index))


@cache
def _bernoulli_fraction(index: int) -> Fraction:
    if index == 0:
        return Fraction(1)
    return -sum(math.comb(index + 1, k) * _bernoulli_fraction(k) for k in range(index)) / Fraction(index + 1)
