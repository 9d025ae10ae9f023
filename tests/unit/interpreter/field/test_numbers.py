"""Arithmetic in a finite field is exact, in any order, and small numbers keep their order."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdy.interpreter.arrays.field_types import Residues
from sdy.interpreter.field.numbers import LEAST_PRIME, MOST_PRIME, Field, field_of_draw

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # which runs do not print
FIELD = field_of_draw(np.random.default_rng(0))
SHUFFLED = field_of_draw(np.random.default_rng(1), is_shuffled=True)


def residues(field: Field, count: int, seed: int = 0) -> Residues:
    half = field.prime // 2
    return np.random.default_rng(seed).integers(-half, half + 1, count).astype(np.float64)


def modulo(field: Field, number: int) -> int:
    residue = number % field.prime
    return residue - field.prime if residue > field.prime // 2 else residue


def test_a_drawn_prime_is_3_modulo_4_in_its_range() -> None:
    for seed in range(20):
        prime = field_of_draw(np.random.default_rng(seed)).prime
        assert LEAST_PRIME < prime < MOST_PRIME
        assert prime % 4 == 3
        assert all(pow(base, prime - 1, prime) == 1 for base in (2, 3, 5, 7, 11))


@given(st.integers(0, 2**32))
def test_products_and_sums_are_those_of_integers(seed: int) -> None:
    one, other = residues(FIELD, 50, seed), residues(FIELD, 50, seed + 1)
    products = FIELD.multiplied(one, other).tolist()
    assert products == [modulo(FIELD, int(a) * int(b)) for a, b in zip(one, other, strict=True)]
    assert float(FIELD.summed(one, (0,))) == modulo(FIELD, sum(map(int, one)))
    assert not np.signbit(FIELD.multiplied(one, np.zeros(50))).any()


@pytest.mark.parametrize("count", [1, 2, 7, 64])
def test_inverses(count: int) -> None:
    numbers = residues(FIELD, count)
    assert FIELD.multiplied(numbers, FIELD.inverse(numbers)).tolist() == [1.0] * count


def test_infinities_and_nan_are_as_in_floats() -> None:
    assert FIELD.inverse(np.array([0.0, inf, -inf])).tolist() == [inf, 0.0, 0.0]
    numbers = np.array([inf, -inf, nan, 5.0])
    assert np.array_equal(FIELD.reduced(numbers), numbers, equal_nan=True)
    assert np.array_equal(FIELD.key(numbers[:3]), numbers[:3], equal_nan=True)
    assert np.array_equal(SHUFFLED.of_key(SHUFFLED.key(numbers)), numbers, equal_nan=True)
    assert np.isnan(FIELD.multiplied(np.array(inf), np.array(0.0)))


@pytest.mark.parametrize("terms", [1, 50, 20_000])
def test_matrix_products_are_exact(terms: int) -> None:
    left, right = residues(FIELD, 2 * terms).reshape(2, terms), residues(FIELD, 3 * terms, 1).reshape(terms, 3)
    product = FIELD.matrix_product(left, right)
    for row in range(2):
        for column in range(3):
            exact = sum(int(a) * int(b) for a, b in zip(left[row], right[:, column], strict=True))
            assert product[row, column] == modulo(FIELD, exact)


def test_a_matrix_product_with_an_infinity() -> None:
    left = np.array([[inf, 1.0], [2.0, 3.0]])
    right = np.array([[5.0, 0.0], [7.0, 1.0]])
    assert np.array_equal(FIELD.matrix_product(left, right), [[inf, nan], [31.0, 3.0]], equal_nan=True)


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([np.float64, np.float32, np.float16]))
def test_a_constant_is_an_integer_times_a_power_of_2(number: float, kind: type[np.floating]) -> None:
    with np.errstate(over="ignore"):
        declared = float(kind(number))
    numerator, denominator = declared.as_integer_ratio() if np.isfinite(declared) else (0, 1)
    expected = modulo(FIELD, numerator * pow(denominator, -1, FIELD.prime)) if np.isfinite(declared) else declared
    assert float(FIELD.of_floats(np.array(declared))) == expected
    assert FIELD.constant(declared) == expected


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.bool_])
def test_integers_of_any_type(dtype: type[np.generic]) -> None:
    limits = (False, True) if dtype is np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max, 3)  # pyright: ignore
    array = np.array(limits, dtype)
    assert FIELD.of_array(array).tolist() == [modulo(FIELD, int(number)) for number in limits]


def test_small_numbers_are_ordered_as_usual() -> None:
    numbers = np.array([-1000.5, -1.0, -0.00390625, 0.0, 0.5, 1.0, 120_000.0])
    keys = FIELD.key(FIELD.of_floats(numbers))
    assert (np.diff(keys) > 0).all()
    assert FIELD.fixed_point(FIELD.of_floats(numbers)).tolist() == numbers.tolist()


@given(st.integers(0, 2**32))
def test_an_order_is_a_bijection(seed: int) -> None:
    numbers = residues(SHUFFLED, 100, seed)
    keys = SHUFFLED.key(numbers)
    assert SHUFFLED.of_key(keys).tolist() == numbers.tolist()
    assert len(np.unique(keys)) == len(np.unique(numbers))


def test_in_the_total_order_nan_is_the_largest() -> None:
    keys = FIELD.total_key(np.array([-inf, float(residues(FIELD, 1)[0]), inf, nan]))
    assert (np.diff(keys) > 0).all()


def test_functions_depend_on_their_name_their_operands_and_the_draw() -> None:
    numbers = residues(FIELD, 1000)
    one = FIELD.hashed("sine", numbers)
    assert np.array_equal(one, FIELD.hashed("sine", numbers))
    assert (one == FIELD.hashed("cosine", numbers)).sum() < 3
    assert (one == Field(FIELD.prime, FIELD.salt + 1).hashed("sine", numbers)).sum() < 3
    assert (FIELD.hashed("f", numbers, one) == FIELD.hashed("f", one, numbers)).sum() < 3
    assert np.isnan(FIELD.hashed("sine", np.array(nan)))
    assert (np.abs(one) <= FIELD.prime // 2).all()
