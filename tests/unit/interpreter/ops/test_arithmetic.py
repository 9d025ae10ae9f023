from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.ops import arithmetic


def bits(array: Array) -> list[int]:
    return array.view(np.dtype(f"u{array.dtype.itemsize}")).tolist()


def ints(*values: int) -> Array:
    return np.array(values, np.int8)


@pytest.fixture(autouse=True)
def as_in_a_run():
    """Silence invalid floating-point operations, as the executor does for kernels."""
    with np.errstate(all="ignore"):
        yield


def test_integers_wrap() -> None:
    assert arithmetic.add(ints(127), ints(1)).tolist() == [-128]
    assert arithmetic.multiply(ints(100), ints(3)).tolist() == [44]
    assert arithmetic.negate(ints(-128)).tolist() == [-128]


def test_narrow_integers_wrap_at_their_own_width() -> None:
    narrow = np.array([7, -8], ml_dtypes.int4)
    assert arithmetic.add(narrow, narrow).astype(int).tolist() == [-2, 0]
    assert arithmetic.bitwise_not(np.array([0, 3], ml_dtypes.uint2)).astype(int).tolist() == [3, 0]


def test_division_is_rounded_toward_zero() -> None:
    assert arithmetic.divide(ints(7, -7, 7, -7), ints(2, 2, -2, -2)).tolist() == [3, -3, -3, 3]
    assert arithmetic.remainder(ints(7, -7, 7, -7), ints(2, 2, -2, -2)).tolist() == [1, -1, 1, -1]


def test_division_by_zero_has_a_result() -> None:
    assert arithmetic.divide(ints(5, -5, 0), ints(0, 0, 0)).tolist() == [-1, -1, -1]
    assert arithmetic.divide(np.array([5], np.uint8), np.array([0], np.uint8)).tolist() == [255]
    assert arithmetic.remainder(ints(5, -5), ints(0, 0)).tolist() == [5, -5]


def test_the_quotient_that_does_not_fit_wraps() -> None:
    assert arithmetic.divide(ints(-128), ints(-1)).tolist() == [-128]
    assert arithmetic.remainder(ints(-128), ints(-1)).tolist() == [0]


def test_remainder_of_floats_has_the_sign_of_the_dividend() -> None:
    assert arithmetic.remainder(np.array([5.5, -5.5]), np.array([-2.0, 2.0])).tolist() == [1.5, -1.5]


def test_maximum_and_minimum_order_zeros_and_keep_nan() -> None:
    left = np.array([-0.0, 0.0, -0.0, np.nan, 1.0, -3.0], np.float32)
    right = np.array([0.0, -0.0, -0.0, 1.0, np.nan, -0.0], np.float32)
    largest, smallest = arithmetic.maximum(left, right), arithmetic.minimum(left, right)
    assert np.signbit(largest[:3]).tolist() == [False, False, True]
    assert np.signbit(smallest[:3]).tolist() == [True, True, True]
    assert np.isnan(largest[3:5]).all()
    assert np.isnan(smallest[3:5]).all()
    assert np.signbit(largest[5])
    assert largest[5] == 0
    assert smallest[5] == -3


def test_minimum_with_zero_keeps_the_other_number() -> None:
    assert arithmetic.minimum(np.array([0.0, 0.0]), np.array([2.0, -2.0])).tolist() == [0.0, -2.0]


@pytest.mark.parametrize(
    ("shift", "expected"),
    [
        (arithmetic.shift_left, [-2, -128, 0, 0]),
        (arithmetic.shift_right_arithmetic, [-1, -1, -1, -1]),
        (arithmetic.shift_right_logical, [127, 1, 0, 0]),
    ],
)
def test_shifts_past_the_width(shift: arithmetic.Compute, expected: list[int]) -> None:
    # A negative distance is a large one.
    assert shift(ints(-1, -1, -1, -1), ints(1, 7, 8, -1)).tolist() == expected


def test_shifts_of_narrow_integers() -> None:
    narrow, one = np.array([-8, 7], ml_dtypes.int4), np.array([1, 1], ml_dtypes.int4)
    assert arithmetic.shift_right_arithmetic(narrow, one).astype(int).tolist() == [-4, 3]
    assert arithmetic.shift_right_logical(narrow, one).astype(int).tolist() == [4, 3]
    assert arithmetic.shift_left(narrow, one).astype(int).tolist() == [0, -2]


def test_bits_are_counted_at_the_own_width() -> None:
    assert arithmetic.population_count(ints(-1, 0, 16)).tolist() == [8, 0, 1]
    assert arithmetic.count_leading_zeros(ints(-1, 0, 16)).tolist() == [0, 8, 3]
    assert arithmetic.population_count(np.array([-1], ml_dtypes.int4)).astype(int).tolist() == [4]
    assert arithmetic.count_leading_zeros(np.array([1], np.uint64)).tolist() == [63]


def test_integer_powers() -> None:
    base, exponent = ints(2, -3, 2, 1, -1, -1, 0), ints(7, 3, -1, -5, -3, -2, 0)
    assert arithmetic.power(base, exponent).tolist() == [-128, -27, 0, 1, -1, 1, 1]
    assert arithmetic.power(np.array([3], np.uint8), np.array([200], np.uint8)).tolist() == [pow(3, 200, 256)]


def test_sign_keeps_zeros_and_nan() -> None:
    result = arithmetic.sign(np.array([-0.0, 3.0, -2.0, np.nan], np.float32))
    assert np.signbit(result[0])
    assert result[1:3].tolist() == [1.0, -1.0]
    assert np.isnan(result[3])
    assert arithmetic.sign(np.array([3 + 4j, 0], np.complex64)).tolist() == [np.complex64(0.6 + 0.8j), 0]


def test_half_is_rounded_away_from_zero() -> None:
    below = np.nextafter(0.5, 0.0)
    assert arithmetic.round_half_away(np.array([0.5, -2.5, 2.4, below])).tolist() == [1.0, -3.0, 2.0, 0.0]
    assert np.signbit(arithmetic.round_half_away(np.array([-0.2])))[0]


def test_bfloat16_is_rounded_after_each_op() -> None:
    one = np.array([1.0], ml_dtypes.bfloat16)
    tiny = np.array([2.0**-9], ml_dtypes.bfloat16)
    assert arithmetic.add(one, tiny).astype(float).tolist() == [1.0]
    assert arithmetic.add(one, tiny).dtype == one.dtype


def test_transcendental_functions_are_rounded_once() -> None:
    x = np.linspace(-3, 3, 1000, dtype=np.float32)
    exact = np.tanh(x.astype(np.float64)).astype(np.float32)
    assert bits(arithmetic.in_exact_dtype(np.tanh)(x)) == bits(exact)


def test_total_order() -> None:
    ordered = np.array([-np.nan, -np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan], np.float32)
    ordered[0] = np.copysign(np.float32(np.nan), np.float32(-1))
    keys = arithmetic.total_order_key(ordered)
    assert (np.diff(keys.astype(np.int64)) > 0).all()


def test_clamp_prefers_the_upper_bound() -> None:
    assert arithmetic.clamp(ints(5), ints(0), ints(3)).tolist() == [3]


def test_complex_arctangent_continues_the_real_one() -> None:
    y, x = np.array([1.0, -2.0]), np.array([1.0, 3.0])
    assert np.allclose(arithmetic.atan2(y + 0j, x + 0j), np.arctan2(y, x))
    assert np.allclose(arithmetic.cube_root(np.array([8.0 + 0j])), 2.0)
