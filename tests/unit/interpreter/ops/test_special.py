from __future__ import annotations

import math

import numpy as np
import pytest

from sdy.interpreter.ops import special


@pytest.fixture(autouse=True)
def as_in_a_run():
    """Silence invalid floating-point operations, as the executor does for kernels."""
    with np.errstate(all="ignore"):
        yield


X = np.concatenate([np.linspace(-6, 6, 241), [1e-20, -1e-300, 0.9999, 1.0001, 20.0]])


def relative_error(actual: special.Reals, expected: special.Reals) -> float:
    return float(np.max(np.abs(actual - expected) / np.maximum(np.abs(expected), 1e-300)))


def test_error_functions() -> None:
    assert relative_error(special.erf(X), np.array([math.erf(x) for x in X])) < 2e-15
    assert relative_error(special.erfc(X), np.array([math.erfc(x) for x in X])) < 1e-14


def test_error_functions_at_the_ends() -> None:
    ends = np.array([np.inf, -np.inf, np.nan, -0.0])
    assert special.erf(ends)[:2].tolist() == [1.0, -1.0]
    assert special.erfc(ends)[:2].tolist() == [0.0, 2.0]
    assert np.isnan(special.erf(ends)[2])
    assert np.signbit(special.erf(ends)[3])


def test_inverse_error_function() -> None:
    y = np.concatenate([np.linspace(-0.999, 0.999, 201), [1e-10, 1 - 1e-12]])
    y = y[y != 0]
    assert relative_error(special.erf(special.erf_inv(y)), y) < 1e-13
    assert special.erf_inv(np.array([1.0, -1.0, 0.0])).tolist() == [np.inf, -np.inf, 0.0]
    assert np.isnan(special.erf_inv(np.array([1.5])))[0]


def test_logarithm_of_gamma() -> None:
    x = np.concatenate([np.linspace(0.1, 40, 300), [-0.5, -3.7, 1e10]])
    expected = np.array([math.lgamma(value) for value in x])
    assert np.max(np.abs(special.lgamma(x) - expected) / np.maximum(1.0, np.abs(expected))) < 1e-13
    assert special.lgamma(np.array([0.0, -2.0, np.inf, -np.inf])).tolist() == [np.inf] * 4


def test_digamma_is_the_derivative_of_the_logarithm_of_gamma() -> None:
    x = np.array([0.3, 1.0, 2.5, 17.0, -1.5])
    step = 1e-5
    slope = (special.lgamma(x + step) - special.lgamma(x - step)) / (2 * step)
    assert np.allclose(special.digamma(x), slope, rtol=1e-6)
    assert abs(special.digamma(np.array([1.0]))[0] + np.euler_gamma) < 1e-14
    assert np.isnan(special.digamma(np.array([0.0, -3.0]))).all()


def test_zeta_and_polygamma() -> None:
    assert abs(special.zeta(np.array([2.0]), np.array([1.0]))[0] - math.pi**2 / 6) < 1e-14
    assert abs(special.zeta(np.array([4.0]), np.array([1.0]))[0] - math.pi**4 / 90) < 1e-14
    assert special.zeta(np.array([1.0]), np.array([1.0])).tolist() == [np.inf]
    assert abs(special.polygamma(np.array([1.0]), np.array([1.0]))[0] - math.pi**2 / 6) < 1e-14
    assert abs(special.polygamma(np.array([0.0]), np.array([1.0]))[0] + np.euler_gamma) < 1e-14
    assert np.isnan(special.polygamma(np.array([0.5, -1.0]), np.array([1.0, 1.0]))).all()


def test_bessel_function() -> None:
    # Both ways of computing meet at 30; the function is odd.
    near = special.bessel_i1e(np.array([np.nextafter(30.0, 0.0), 30.0]))
    assert abs(near[0] - near[1]) < 1e-15
    # I1(1) from its series.
    series = sum(0.5 ** (2 * k + 1) / (math.factorial(k) * math.factorial(k + 1)) for k in range(20))
    assert abs(special.bessel_i1e(np.array([1.0]))[0] - series * math.exp(-1)) < 1e-15
    assert special.bessel_i1e(np.array([-2.0]))[0] == -special.bessel_i1e(np.array([2.0]))[0]
    assert special.bessel_i1e(np.array([np.inf])).tolist() == [0.0]
