"""The functions of CHLO as formulas of StableHLO functions; special functions use the interpreter's formulas.

Formulas are written for NumPy and traced. Real ones are computed in f64, so that cancellation does not affect narrower
results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.chlo import broadcast, elementwise
from sdy.interpreter.ops import special

# Formulas map traced tensors to traced tensors; to NumPy's type stubs they are Any.
Formula = Callable[..., Any]

_LARGE = 2.0**500  # squares of larger numbers overflow
_LOG_2 = math.log(2.0)


def acos(x: Any) -> Any:
    """Return the arc cosine, from 0 to pi; NaN outside -1 to 1."""
    return 2.0 * np.arctan2(np.sqrt(1.0 - x), np.sqrt(1.0 + x))


def asin(x: Any) -> Any:
    """Return the arc sine, from -pi/2 to pi/2; NaN outside -1 to 1."""
    return np.arctan2(x, np.sqrt((1.0 - x) * (1.0 + x)))


def atan(x: Any) -> Any:
    """Return the arc tangent, from -pi/2 to pi/2."""
    return np.arctan2(x, 1.0)


def acosh(x: Any) -> Any:
    """Return the inverse hyperbolic cosine; NaN below 1."""
    is_large = x > _LARGE
    inside = np.where(is_large, 1.0, x)
    above = inside - 1.0
    near = np.log1p(above + np.sqrt(above) * np.sqrt(inside + 1.0))
    return np.where(is_large, np.log(x) + _LOG_2, near)


def asinh(x: Any) -> Any:
    """Return the inverse hyperbolic sine, accurate around 0."""
    size = np.abs(x)
    is_large = size > _LARGE
    inside = np.where(is_large, 1.0, size)
    square = inside * inside
    near = np.log1p(inside + square / (1.0 + np.sqrt(square + 1.0)))
    return np.copysign(np.where(is_large, np.log(size) + _LOG_2, near), x)


def atanh(x: Any) -> Any:
    """Return the inverse hyperbolic tangent; infinite at -1 and 1, NaN outside."""
    return np.copysign(0.5 * (np.log1p(np.abs(x)) - np.log1p(-np.abs(x))), x)


def cosh(x: Any) -> Any:
    """Return the hyperbolic cosine; exponentials are halved before the sum, which avoids overflow."""
    log_half = math.log(0.5)
    return np.exp(x + log_half) + np.exp(log_half - x)


def sinh(x: Any) -> Any:
    """Return the hyperbolic sine, by `expm1` around 0, where the exponentials cancel."""
    log_half = math.log(0.5)
    grown = np.expm1(np.where(np.abs(x) < 1.0, x, 0.0))
    small = 0.5 * (grown + grown / (grown + 1.0))
    return np.where(np.abs(x) < 1.0, small, np.exp(x + log_half) - np.exp(log_half - x))


def complex_asinh(z: Any) -> Any:
    """Return the inverse hyperbolic sine on the principal branch."""
    return np.log(z + np.sqrt(z * z + 1.0))


def complex_acosh(z: Any) -> Any:
    """Return the inverse hyperbolic cosine on the principal branch."""
    return np.log(z + np.sqrt(z + 1.0) * np.sqrt(z - 1.0))


def complex_atanh(z: Any) -> Any:
    """Return the inverse hyperbolic tangent on the principal branch."""
    return 0.5 * (np.log(1.0 + z) - np.log(1.0 - z))


def complex_asin(z: Any) -> Any:
    """Return the arc sine on the principal branch."""
    return -1j * np.log(1j * z + np.sqrt(1.0 - z) * np.sqrt(1.0 + z))


def complex_acos(z: Any) -> Any:
    """Return the arc cosine on the principal branch."""
    return math.pi / 2 - complex_asin(z)


def complex_atan(z: Any) -> Any:
    """Return the arc tangent on the principal branch."""
    return -1j * complex_atanh(1j * z)


def complex_sinh(z: Any) -> Any:
    """Return half the difference of the exponentials."""
    return 0.5 * (np.exp(z) - np.exp(-z))


def square(x: Any) -> Any:
    """Return the product of `x` with itself."""
    return x * x


def is_positive_infinity(x: Any) -> Any:
    """Return whether each float is positive infinity."""
    return x == math.inf


def is_negative_infinity(x: Any) -> Any:
    """Return whether each float is negative infinity."""
    return x == -math.inf


REAL: dict[type[Operation], Formula] = {
    elementwise.AcosOp: acos,
    elementwise.AcoshOp: acosh,
    elementwise.AsinOp: asin,
    elementwise.AsinhOp: asinh,
    elementwise.AtanOp: atan,
    elementwise.AtanhOp: atanh,
    elementwise.BesselI1eOp: special.bessel_i1e,
    elementwise.CoshOp: cosh,
    elementwise.DigammaOp: special.digamma,
    elementwise.ErfInvOp: special.erf_inv,
    elementwise.ErfOp: special.erf,
    elementwise.ErfcOp: special.erfc,
    elementwise.LgammaOp: special.lgamma,
    elementwise.PolygammaOp: special.polygamma,
    elementwise.SinhOp: sinh,
    elementwise.TanOp: np.tan,
    elementwise.ZetaOp: special.zeta,
    broadcast.BroadcastPolygammaOp: special.polygamma,
    broadcast.BroadcastZetaOp: special.zeta,
}
COMPLEX: dict[type[Operation], Formula] = {
    elementwise.AcosOp: complex_acos,
    elementwise.AcoshOp: complex_acosh,
    elementwise.AsinOp: complex_asin,
    elementwise.AsinhOp: complex_asinh,
    elementwise.AtanOp: complex_atan,
    elementwise.AtanhOp: complex_atanh,
    elementwise.CoshOp: cosh,
    elementwise.SinhOp: complex_sinh,
    elementwise.TanOp: np.tan,
}
# Formulas that are computed in the element type of the operands.
EXACT: dict[type[Operation], Formula] = {
    elementwise.IsInfOp: np.isinf,
    elementwise.IsNegInfOp: is_negative_infinity,
    elementwise.IsPosInfOp: is_positive_infinity,
    elementwise.SquareOp: square,
}
