"""Functions of complex numbers around 0, at infinities, and the signs of zeros."""

from __future__ import annotations

from math import inf, log1p, nan, pi

import numpy as np
import pytest
from support.execution.run_text import run_op

from sdy.interpreter.arrays.element_types import Array


@pytest.fixture(autouse=True)
def as_in_a_run():
    """Silence invalid floating-point operations, as the executor does for kernels."""
    with np.errstate(all="ignore"):
        yield


def unary(name: str, *values: complex) -> Array:
    kind = f"tensor<{len(values)}xcomplex<f64>>"
    dialect = "chlo" if name in ("cosh", "sinh") else "stablehlo"
    signature = f"{kind} -> {kind}" if dialect == "chlo" else kind
    return run_op(f"{dialect}.{name} %z : {signature}", kind, z=np.array(values, np.complex128))


def binary(name: str, lhs: Array, rhs: Array) -> Array:
    kind = f"tensor<{len(lhs)}xcomplex<f64>>"
    return run_op(f"stablehlo.{name} %a, %b : {kind}", kind, a=lhs, b=rhs)


def parts(values: Array) -> list[tuple[float, float]]:
    """Return real and imaginary parts; -0.0 and 0.0 are distinguished by their text."""
    return [(float(z.real), float(z.imag)) for z in values]


def test_exponential_minus_one_keeps_its_digits_around_zero() -> None:
    assert parts(unary("exponential_minus_one", 1e-20, 1e-20j, complex(-0.0, -0.0))) == [
        (1e-20, 0.0),
        (-5e-41, 1e-20),
        (-0.0, -0.0),
    ]
    z = np.array([0.3 - 2j, 9.56 - 1.59j, -3 + 1e3j, 30.0 + 1j])
    assert np.allclose(unary("exponential_minus_one", *z), np.exp(z) - 1, rtol=1e-14)


def test_exponential_minus_one_of_infinities() -> None:
    found = str(parts(unary("exponential_minus_one", inf, complex(inf, -0.0), complex(-inf, inf), complex(inf, inf))))
    assert found == "[(inf, 0.0), (inf, -0.0), (-1.0, 0.0), (inf, nan)]"


def test_log_plus_one_keeps_its_digits_around_zero() -> None:
    near = unary("log_plus_one", 1e-20, complex(1e-20, -0.0), 1e-9j)
    assert str(parts(near)) == str([(1e-20, 0.0), (1e-20, -0.0), (5e-19, 1e-9)])
    assert np.allclose(unary("log_plus_one", -1e-9), log1p(-1e-9), rtol=1e-14)
    z = np.array([0.3 - 0.2j, -0.49 + 0.4j, 5 + 1e3j, -4 + 0.1j])
    assert np.allclose(unary("log_plus_one", *z), np.log(1 + z), rtol=1e-14)
    assert parts(unary("log_plus_one", inf, complex(-inf, 1))) == [(inf, 0.0), (inf, pi)]


def test_reciprocals_of_infinities_are_signed_zeros() -> None:
    found = unary("rsqrt", complex(0, inf), complex(0, -inf), inf)
    assert str(parts(found)) == "[(0.0, -0.0), (0.0, 0.0), (0.0, 0.0)]"
    assert str(parts(unary("rsqrt", 0j))) == "[(inf, nan)]"
    assert np.abs(unary("logistic", complex(-inf, 1), complex(-1e308, 3))).tolist() == [0.0, 0.0]
    assert np.allclose(unary("rsqrt", -4.0, 3 + 4j), [-0.5j, (2 - 1j) / 5])


def test_products_do_not_depend_on_the_processor() -> None:
    factors = np.full(8, complex(1 + 2**-30, 1)), np.full(8, complex(1 + 2**-30, 1 + 2**-29))
    # A fused product, which NumPy computes where the processor can, leaves the rounding error in the real part.
    assert parts(binary("multiply", *factors)) == [(0.0, 2.0000000037252903)] * 8


def test_quotients_by_zeros_and_infinities() -> None:
    numerators = np.array([1 + 1j, complex(inf, -1), complex(inf, inf), 3 - 2j, complex(1e200, 1e200)])
    denominators = np.array([complex(-0.0, 0.0), 0j, 2j, complex(inf, nan), complex(1e200, 1e200)])
    assert str(parts(binary("divide", numerators, denominators))) == str(
        [(-inf, -inf), (inf, -inf), (inf, -inf), (0.0, -0.0), (1.0, 0.0)]
    )


def test_signs_of_the_smallest_and_largest_numbers() -> None:
    assert str(parts(unary("sign", 5e-324, 5e-324j, complex(-0.0, -0.0), 1e308 - 1e308j, 3 + 4j))) == str(
        [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (1e308 / 2**0.5 / 1e308, -(1e308 / 2**0.5 / 1e308)), (0.6, 0.8)]
    )


def test_maximum_and_minimum_are_lexicographic() -> None:
    sides = np.array([1 + 2j, 1 + 2j, 3 - 1j, complex(nan, 1)]), np.array([1 + 3j, 1 - 3j, 2 + 5j, 1 + 1j])
    assert binary("maximum", *sides).tolist() == [1 + 3j, 1 + 2j, 3 - 1j, 1 + 1j]
    assert binary("minimum", *sides).tolist() == [1 + 2j, 1 - 3j, 2 + 5j, 1 + 1j]


def test_powers() -> None:
    bases = np.array([2j, 4 + 0j, 0j, complex(inf, 0)])
    found = binary("power", bases, np.array([2 + 0j, 0.5 + 0j, 0j, 1 + 0j]))
    assert np.allclose(found[:2], [-4, 2])
    assert str(parts(found[2:])) == "[(nan, nan), (inf, nan)]"


def test_cube_roots() -> None:
    assert np.allclose(unary("cbrt", 8.0, -8.0, 1j), [2, 1 + 3**0.5 * 1j, (3**0.5 + 1j) / 2])
    assert parts(unary("cbrt", complex(0, inf), 1e300)) == [(inf, inf), (1e100, 0.0)]


def test_hyperbolic_functions_of_infinities() -> None:
    assert str(parts(unary("cosh", complex(inf, 0), complex(0, 1e3)))[0]) == "(inf, 0.0)"
    assert str(parts(unary("sinh", complex(-inf, 0)))) == "[(-inf, 0.0)]"
    z = np.array([9.5 - 1.59j, 1e-9 + 1e-9j, -0.1j])
    assert np.allclose(unary("cosh", *z), np.cosh(z), rtol=1e-15)
    assert np.allclose(unary("sinh", *z), np.sinh(z), rtol=1e-15)
    assert str(parts(unary("sinh", complex(nan, 0)))) == "[(nan, 0.0)]"
