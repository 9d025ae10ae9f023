from __future__ import annotations

import ml_dtypes
import numpy as np

from sdy.interpreter.ops.check import almost_equal, equal, mismatch, ulp_distance


def test_nan_equals_nan_and_zeros_are_equal() -> None:
    left, right = np.array([np.nan, 0.0, 1.0]), np.array([np.nan, -0.0, 2.0])
    assert equal(left, right).tolist() == [True, True, False]


def test_almost_equal_is_a_distance() -> None:
    left = np.array([1.0, 1.0, np.inf, np.inf, np.nan])
    right = np.array([1.05, 1.2, np.inf, -np.inf, 1.0])
    assert almost_equal(left, right, 0.1).tolist() == [True, False, True, False, False]
    assert almost_equal(np.array([1 + 1j]), np.array([1 + 1.2j]), 0.1).tolist() == [False]
    assert almost_equal(np.array([3]), np.array([4]), 5.0).tolist() == [False]


def test_almost_equal_is_relative_to_large_expected_values() -> None:
    expected = np.array([1000.0, 1000.0, 0.001, np.inf, 1e308])
    actual = np.array([1000.09, 1000.11, 0.00109, 1e308, np.inf])
    assert almost_equal(actual, expected, 1e-4).tolist() == [True, False, True, False, False]


def test_ulps_count_the_floats_in_between() -> None:
    one = np.array([1.0, -1.0, 0.0], np.float32)
    assert ulp_distance(one, np.nextafter(one, np.float32(9))).tolist() == [1, 1, 1]
    tiny = np.nextafter(np.float32(0), np.float32(1))
    assert ulp_distance(np.array([tiny]), np.array([-tiny])).tolist() == [2]
    assert ulp_distance(np.array([np.nan, np.nan]), np.array([np.nan, 1.0])).tolist() == [0, np.inf]
    big = np.finfo(np.float64).max
    assert ulp_distance(np.array([big]), np.array([-big]))[0] > 2.0**63


def test_ulps_depend_on_the_element_type() -> None:
    left = np.array([1.0, -0.5], ml_dtypes.bfloat16)
    right = np.array([1.0 + 2.0**-7, -0.5], ml_dtypes.bfloat16)
    assert ulp_distance(left, right).tolist() == [1, 0]
    assert ulp_distance(np.array([1j], np.complex64), np.array([1.0], np.complex64))[0] > 1000


def test_mismatch_reports_the_first_index() -> None:
    actual, expected = np.array([[1, 2], [3, 4]]), np.array([[1, 2], [5, 6]])
    found = mismatch(actual, expected, equal(actual, expected))
    assert found is not None
    assert (found.index, found.count, int(found.actual), int(found.expected)) == ((1, 0), 2, 3, 5)
    assert mismatch(actual, actual, equal(actual, actual)) is None
