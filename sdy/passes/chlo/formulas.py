"""The elementary functions of CHLO by those of StableHLO; the special functions are the interpreter's own formulas.

Formulas are written for NumPy and traced. Real ones are computed in f64, so that cancellation in them does not show in
narrower results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from sdy.dialects.chlo import broadcast, elementwise
from sdy.interpreter.ops import special

# Formulas take and give traced tensors; for NumPy's type stubs these are anything.
Formula = Callable[..., Any]

_LARGE = 2.0**500  # the square of what is larger would overflow
_LOG_2 = math.log(2.0)


def acos(x: Any) -> Any:
    """From 0 to pi; NaN outside of -1 to 1."""
    return 2.0 * np.arctan2(np.sqrt(1.0 - x), np.sqrt(1.0 + x))


def asin(x: Any) -> Any:
    """From -pi/2 to pi/2; NaN outside of -1 to 1."""
    return np.arctan2(x, np.sqrt((1.0 - x) * (1.0 + x)))


def atan(x: Any) -> Any:
    """From -pi/2 to pi/2."""
    return np.arctan2(x, 1.0)


def acosh(x: Any) -> Any:
    """NaN below 1."""
    is_large = x > _LARGE
    inside = np.where(is_large, 1.0, x)
    above = inside - 1.0
    near = np.log1p(above + np.sqrt(above) * np.sqrt(inside + 1.0))
    return np.where(is_large, np.log(x) + _LOG_2, near)


def asinh(x: Any) -> Any:
    """Odd, and exact around 0."""
    size = np.abs(x)
    is_large = size > _LARGE
    inside = np.where(is_large, 1.0, size)
    square = inside * inside
    near = np.log1p(inside + square / (1.0 + np.sqrt(square + 1.0)))
    return np.copysign(np.where(is_large, np.log(size) + _LOG_2, near), x)


def atanh(x: Any) -> Any:
    """Infinite at -1 and 1; NaN outside."""
    return np.copysign(0.5 * (np.log1p(np.abs(x)) - np.log1p(-np.abs(x))), x)


def cosh(x: Any) -> Any:
    """Halved before the sum, which overflows no earlier than the result."""
    log_half = math.log(0.5)
    return np.exp(x + log_half) + np.exp(log_half - x)


def sinh(x: Any) -> Any:
    """By `expm1` around 0, where the exponentials cancel."""
    log_half = math.log(0.5)
    grown = np.expm1(np.where(np.abs(x) < 1.0, x, 0.0))
    small = 0.5 * (grown + grown / (grown + 1.0))
    return np.where(np.abs(x) < 1.0, small, np.exp(x + log_half) - np.exp(log_half - x))


def complex_asinh(z: Any) -> Any:
    """On the principal branch."""
    return np.log(z + np.sqrt(z * z + 1.0))


def complex_acosh(z: Any) -> Any:
    """On the principal branch."""
    return np.log(z + np.sqrt(z + 1.0) * np.sqrt(z - 1.0))


def complex_atanh(z: Any) -> Any:
    """On the principal branch."""
    return 0.5 * (np.log(1.0 + z) - np.log(1.0 - z))


def complex_asin(z: Any) -> Any:
    """On the principal branch."""
    return -1j * np.log(1j * z + np.sqrt(1.0 - z) * np.sqrt(1.0 + z))


def complex_acos(z: Any) -> Any:
    """On the principal branch."""
    return math.pi / 2 - complex_asin(z)


def complex_atan(z: Any) -> Any:
    """On the principal branch."""
    return -1j * complex_atanh(1j * z)


def complex_sinh(z: Any) -> Any:
    """The difference of the exponentials, halved."""
    return 0.5 * (np.exp(z) - np.exp(-z))


def square(x: Any) -> Any:
    """The product with itself."""
    return x * x


def is_positive_infinity(x: Any) -> Any:
    """Of floats."""
    return x == math.inf


def is_negative_infinity(x: Any) -> Any:
    """Of floats."""
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
# Computed in the type of the operands.
EXACT: dict[type[Operation], Formula] = {
    elementwise.IsInfOp: np.isinf,
    elementwise.IsNegInfOp: is_negative_infinity,
    elementwise.IsPosInfOp: is_positive_infinity,
    elementwise.SquareOp: square,
}
