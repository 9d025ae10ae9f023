from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import Float6E2M3FNType, IntegerType, Signedness, TensorType, f64, f80, i1, i32

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.interpreter.arrays.element_types import (
    Array,
    bit_width,
    compute_dtype,
    dtype_of,
    exact_dtype,
    is_float,
    is_integer,
    is_signed,
)
from sdy.interpreter.arrays.literals import array_of, attribute_of
from sdy.interpreter.run import parse_inputs


def constant(text: str) -> Array:
    (array,) = parse_inputs(f"[{text}]")
    return array


def test_constants_become_arrays() -> None:
    assert constant("dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>").tolist() == [[1, -2], [3, 4]]
    assert constant("dense<[true, false]> : tensor<2xi1>").tolist() == [True, False]
    assert constant("dense<[-8, 7]> : tensor<2xi4>").astype(int).tolist() == [-8, 7]
    assert constant("dense<[15, 0]> : tensor<2xui4>").astype(int).tolist() == [15, 0]
    assert constant("dense<(1.0,-2.0)> : tensor<complex<f32>>") == np.complex64(1 - 2j)
    assert constant("dense<> : tensor<0x2xf32>").shape == (0, 2)


def test_one_value_for_all_elements_is_stored_once() -> None:
    array = constant("dense<2.5> : tensor<1000x1000xf64>")
    assert array.strides == (0, 0)
    assert array[999, 999] == 2.5


@pytest.mark.parametrize(
    ("array", "element"),
    [
        (np.array([True, False, True]), i1),
        (np.array([-8, 7, 3], ml_dtypes.int4), IntegerType(4)),
        (np.array([3, 0, 2], ml_dtypes.uint2), IntegerType(2, Signedness.UNSIGNED)),
        (np.array([1.5, -0.25, 7.5], ml_dtypes.float6_e2m3fn), Float6E2M3FNType()),
        (np.array([1, 2, 3], np.int32), i32),
    ],
)
def test_arrays_become_constants_and_back(array: Array, element: IntegerType) -> None:
    attribute = attribute_of(array, TensorType(element, array.shape))
    assert isinstance(attribute, DenseElementsAttr)
    back = array_of(attribute.data)
    assert back.dtype == array.dtype
    assert (back == array).all()


def test_classification_of_dtypes() -> None:
    int4, bfloat16 = np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.bfloat16)
    assert (bit_width(int4), bit_width(bfloat16), bit_width(np.dtype(np.bool_))) == (4, 16, 1)
    assert bit_width(np.dtype(ml_dtypes.float4_e2m1fn)) == 4
    assert is_integer(int4)
    assert is_signed(int4)
    assert not is_signed(np.dtype(ml_dtypes.uint4))
    assert is_float(bfloat16)
    assert not is_float(int4)
    assert compute_dtype(int4) == np.int8
    assert (compute_dtype(bfloat16), exact_dtype(bfloat16)) == (np.float32, np.float32)
    assert exact_dtype(np.dtype(np.float32)) == np.float64
    assert exact_dtype(np.dtype(np.complex64)) == np.complex128


def test_types_without_numbers_are_rejected() -> None:
    assert dtype_of(f64) == np.float64
    with pytest.raises(SdyError) as raised:
        dtype_of(f80)
    assert raised.value.diagnostics[0].code == "SDY-X001"
    assert "f80" in raised.value.diagnostics[0].message


@pytest.mark.parametrize("text", ["1", "[1.0 : f32]", "[dense<1> : tensor<2xi32>", "what"])
def test_inputs_are_a_list_of_constants(text: str) -> None:
    with pytest.raises(SdyError) as raised:
        parse_inputs(text)
    assert raised.value.diagnostics[0].code == "SDY-X015"
