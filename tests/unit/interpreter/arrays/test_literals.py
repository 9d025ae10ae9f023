from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ComplexType, TensorType, f32, i1, i32

from sdy.dialects.stablehlo.attributes.types import TokenType
from sdy.interpreter.arrays.literals import dense_text, element_text, tensor_text


def test_innermost_lists_are_printed_on_one_line() -> None:
    text = tensor_text(np.arange(8, dtype=np.int32).reshape(2, 2, 2), TensorType(i32, (2, 2, 2)))
    assert text.splitlines() == [
        "tensor<2x2x2xi32> {",
        "  [",
        "    [",
        "      [0, 1],",
        "      [2, 3]",
        "    ],",
        "    [",
        "      [4, 5],",
        "      [6, 7]",
        "    ]",
        "  ]",
        "}",
    ]


def test_scalars_are_printed_on_one_line() -> None:
    assert tensor_text(np.array(True), TensorType(i1, ())) == "tensor<i1> {true}"


def test_tensors_without_elements() -> None:
    assert tensor_text(np.zeros((0, 2), np.int32), TensorType(i32, (0, 2))) == "tensor<0x2xi32> {\n  []\n}"
    empty_rows = tensor_text(np.zeros((2, 0), np.int32), TensorType(i32, (2, 0)))
    assert empty_rows == "tensor<2x0xi32> {\n  [\n    [],\n    []\n  ]\n}"


def test_complex_elements_are_pairs() -> None:
    value, kind = np.array([1 + 2j, 1 + 2j], np.complex64), TensorType(ComplexType(f32), (2,))
    assert tensor_text(value, kind).splitlines()[1] == "  [[1.000000e+00, 2.000000e+00], [1.000000e+00, 2.000000e+00]]"
    assert dense_text(value, kind) == "dense<(1.000000e+00,2.000000e+00)> : tensor<2xcomplex<f32>>"


def test_sizes_are_those_of_the_value() -> None:
    assert dense_text(np.arange(2, dtype=np.int32), TensorType(i32, (-1,))) == "dense<[0, 1]> : tensor<2xi32>"


def test_a_token_is_its_type() -> None:
    assert tensor_text(np.zeros(()), TokenType()) == "!stablehlo.token"


def test_one_element() -> None:
    assert element_text(np.array(0.5, np.float32), TensorType(f32, (3,))) == "5.000000e-01"
