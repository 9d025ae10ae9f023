"""The laws of the exponential and the logarithm hold in the rings in which programs are compared."""

from __future__ import annotations

import numpy as np
import pytest

from sdy.interpreter.arrays.field_types import Residues, of_parts, parts_of
from sdy.interpreter.field import functions
from sdy.interpreter.field.laws import LawfulRing, ring_of_draw


def drawn(seed: int, *, has_all_logs: bool = False) -> tuple[LawfulRing, Residues, Residues]:
    generator = np.random.default_rng(seed)
    ring = ring_of_draw(generator, has_all_logs=has_all_logs)
    half = ring.prime // 2
    lhs, rhs = generator.integers(-half, half + 1, (2, 1000)).astype(np.float64)
    return ring, lhs, rhs


def of(ring: LawfulRing, name: str, numbers: Residues) -> Residues:
    with np.errstate(all="ignore"):  # as in a run
        return parts_of(functions.hashed(name, ring, of_parts(numbers)))[0]


@pytest.mark.parametrize("seed", range(3))
def test_an_exponential_of_a_sum_is_a_product(seed: int) -> None:
    ring, lhs, rhs = drawn(seed)
    product = ring.multiplied(of(ring, "exponential", lhs), of(ring, "exponential", rhs))
    np.testing.assert_array_equal(of(ring, "exponential", ring.reduced(lhs + rhs)), product)
    assert len(np.unique(product)) > 500


@pytest.mark.parametrize("seed", range(3))
def test_an_exponential_of_a_logarithm_is_the_number(seed: int) -> None:
    ring, numbers, _ = drawn(seed)
    logarithms = of(ring, "log", numbers)
    has_one = ~np.isnan(logarithms)
    assert 400 < has_one.sum() < 600
    prime = ring.prime // ring.order
    back = of(ring, "exponential", logarithms)
    np.testing.assert_array_equal(np.mod(back, prime)[has_one], np.mod(numbers, prime)[has_one])


@pytest.mark.parametrize("has_all_logs", [False, True])
def test_a_logarithm_of_a_product_is_a_sum(*, has_all_logs: bool) -> None:
    ring, lhs, rhs = drawn(0, has_all_logs=has_all_logs)
    total = ring.reduced(of(ring, "log", lhs) + of(ring, "log", rhs))
    counting = ~np.isnan(total)
    assert counting.all() == has_all_logs
    np.testing.assert_array_equal(of(ring, "log", ring.multiplied(lhs, rhs))[counting], total[counting])


def test_other_functions_follow_from_the_exponential() -> None:
    ring, numbers, _ = drawn(0)
    power = of(ring, "exponential", ring.reduced(2 * numbers))
    quotient = ring.multiplied(ring.reduced(power - 1), ring.inverse(ring.reduced(power + 1)))
    np.testing.assert_array_equal(of(ring, "tanh", numbers), quotient)
    np.testing.assert_array_equal(of(ring, "exponential_minus_one", ring.reduced(2 * numbers)), ring.reduced(power - 1))
    roots = of(ring, "sqrt", numbers)
    np.testing.assert_array_equal(of(ring, "rsqrt", numbers), ring.inverse(roots))


def test_values_that_programs_rely_on_are_kept() -> None:
    ring, _, _ = drawn(0)
    numbers = np.array([0.0, np.inf, -np.inf])
    np.testing.assert_array_equal(of(ring, "exponential", numbers), [1.0, np.inf, 0.0])
    np.testing.assert_array_equal(of(ring, "tanh", numbers), [0.0, 1.0, -1.0])
    np.testing.assert_array_equal(of(ring, "logistic", numbers), [ring.constant(0.5), 1.0, 0.0])


def test_a_multiple_of_a_prime_has_no_inverse() -> None:
    ring, _, _ = drawn(0)
    with np.errstate(all="ignore"):  # as in a run
        inverses = ring.inverse(np.array([ring.order, 1.0, 0.0]))
    np.testing.assert_array_equal(inverses, [np.nan, 1.0, np.inf])
