from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from sdy.interpreter.ops.conversion import bitcast, converted, reduced_precision


@pytest.fixture(autouse=True)
def as_in_a_run():
    """Silence invalid floating-point operations, as the executor does for kernels."""
    with np.errstate(all="ignore"):
        yield


FLOATS = np.array([3.7, -3.7, 1e30, -1e30, np.nan, np.inf, -np.inf, 200.0], np.float32)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.int8, [3, -3, 127, -128, 0, 127, -128, 127]),
        (np.uint8, [3, 0, 255, 0, 0, 255, 0, 200]),
        (np.int64, [3, -3, 2**63 - 1, -(2**63), 0, 2**63 - 1, -(2**63), 200]),
        (np.uint64, [3, 0, 2**64 - 1, 0, 0, 2**64 - 1, 0, 200]),
        (np.bool_, [True] * 8),
    ],
)
def test_floats_saturate_to_integers(dtype: type[np.generic], expected: list[int]) -> None:
    assert converted(FLOATS, np.dtype(dtype)).tolist() == expected


def test_complex_numbers_lose_their_imaginary_part() -> None:
    z = np.array([-1.5 + 9j, 1j])
    assert converted(z, np.dtype(np.float32)).tolist() == [-1.5, 0]
    assert converted(z, np.dtype(np.bool_)).tolist() == [True, False]
    assert converted(z, np.dtype(np.int8)).tolist() == [-1, 0]


def test_floats_saturate_to_narrow_integers() -> None:
    assert converted(FLOATS, np.dtype(ml_dtypes.int4)).astype(int).tolist() == [3, -3, 7, -8, 0, 7, -8, 7]


def test_integers_wrap() -> None:
    assert converted(np.array([300, -1, 128]), np.dtype(np.int8)).tolist() == [44, -1, -128]
    assert converted(np.array([9, -9]), np.dtype(ml_dtypes.int4)).astype(int).tolist() == [-7, 7]
    assert converted(np.array([256, 0]), np.dtype(np.bool_)).tolist() == [True, False]


def test_a_float_is_rounded_once() -> None:
    # Halfway between two bf16 in f32, but not in f64.
    above_half = np.array([1.0 + 2.0**-8 + 2.0**-40])
    assert converted(above_half, np.dtype(ml_dtypes.bfloat16)).astype(float).tolist() == [1.0 + 2.0**-7]
    integer = np.array([2**24 + 2**16 + 1])
    assert converted(integer, np.dtype(ml_dtypes.bfloat16)).astype(float).tolist() == [2**24 + 2**17]


def test_complex_loses_its_imaginary_part() -> None:
    value = np.array([2.5 + 1j], np.complex64)
    assert converted(value, np.dtype(np.int32)).tolist() == [2]
    assert converted(value, np.dtype(np.float64)).tolist() == [2.5]
    assert converted(np.array([3], np.int8), np.dtype(np.complex128)).tolist() == [3 + 0j]


def test_bits_move_to_and_from_a_last_dim() -> None:
    words = np.array([0x04030201, 0x08070605], np.uint32)
    as_bytes = bitcast(words, np.dtype(np.int8))
    assert as_bytes.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert bitcast(as_bytes, np.dtype(np.uint32)).tolist() == words.tolist()
    assert bitcast(np.array(1.0, np.float32), np.dtype(np.int32)).shape == ()


def test_bits_of_bools_and_narrow_integers() -> None:
    flags = bitcast(np.array(5, np.uint8), np.dtype(np.bool_))
    assert flags.tolist() == [True, False, True, False, False, False, False, False]
    assert bitcast(flags, np.dtype(np.uint8)).tolist() == 5
    halves = bitcast(np.array([0x2F], np.uint8), np.dtype(ml_dtypes.int4))
    assert halves.astype(int).tolist() == [[-1, 2]]
    assert bitcast(halves, np.dtype(np.uint8)).tolist() == [0x2F]


def test_reduced_precision_rounds_to_even_and_flushes() -> None:
    values = np.array([1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8, 1e30, 1e-30, -np.inf], np.float32)
    result = reduced_precision(values, exponent_bits=5, mantissa_bits=7)
    assert result.tolist() == [1.0, 1.0 + 2.0**-6, np.inf, 0.0, -np.inf]
    assert np.isnan(reduced_precision(np.array([np.nan], np.float32), 5, 7)).all()
    nans = np.array([np.nan, -np.nan], np.float16)
    assert reduced_precision(nans, 5, 0).tolist() == [np.inf, np.inf]
    assert reduced_precision(np.array([1.3], np.float32), 8, 23).tolist() == [np.float32(1.3)]
