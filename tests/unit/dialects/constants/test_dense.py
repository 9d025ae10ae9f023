from __future__ import annotations

import pytest
from xdsl.dialects.builtin import TensorType, bf16, f32, i1, i8, i32, i64
from xdsl.ir import Attribute

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import Scalar
from sdy.dialects.module_text import parse_module, print_module


def parse(text: str) -> DenseElementsAttr:
    module = parse_module(f"stablehlo.constant {text}")
    op = module.body.block.first_op
    assert op is not None
    value = op.properties["value"]
    assert isinstance(value, DenseElementsAttr)
    return value


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("dense<[1, -2]> : tensor<2xi32>", (1, -2)),
        ("dense<7> : tensor<2x2xi8>", (7, 7, 7, 7)),
        ("dense<[200, 0xFF]> : tensor<2xi8>", (-56, -1)),
        ("dense<[true, false]> : tensor<2xi1>", (1, 0)),
        ("dense<255> : tensor<ui8>", (255,)),
        ("dense<[1.5, 0x7F800000]> : tensor<2xf32>", (1.5, float("inf"))),
        ("dense<(1.0, -2.0)> : tensor<complex<f32>>", (1 - 2j,)),
        ('dense<"0x0100000002000000"> : tensor<2xi32>', (1, 2)),
        ('dense<"0x01000000"> : tensor<2xi32>', (1, 1)),
        ("dense<> : tensor<0xf32>", ()),
        ("dense<[]> : tensor<0xf32>", ()),
    ],
)
def test_literals_are_parsed_to_values(text: str, values: tuple[Scalar, ...]) -> None:
    assert parse(text).get_values() == values


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("dense<[1, 2]> : tensor<3xi32>", 7, "expected lists of shape [3], the shape of the type, got [2]"),
        ("dense<[[1, 2], [3]]> : tensor<2x2xi32>", 7, "nested lists must have the same shape, got [1] and [2]"),
        ("dense<1> : tensor<f32>", 7, "decimal point"),
        ("dense<1.0> : tensor<i32>", 7, "expected an integer, got 1.0"),
        ("dense<[0, 256]> : tensor<2xi8>", 11, "expected an integer from -128 to 255, got 256"),
        ("dense<-1> : tensor<ui8>", 7, "-1"),
        ("dense<true> : tensor<i8>", 7, "1-bit"),
        ("dense<0x1FFFFFFFF> : tensor<f32>", 7, "32 bits"),
        ("dense<5> : tensor<?xi32>", 12, "expected a tensor type with a static shape, got tensor<?xi32>"),
        ("dense<5> : tensor<2x!stablehlo.token>", 12, "do not support the element type !stablehlo.token"),
        ('dense<"0x00"> : tensor<2xi32>', 7, "expected 2 elements of 4 bytes"),
        ('dense<"zz"> : tensor<2xi32>', 7, "start with 0x"),
        ('dense<"0xzz"> : tensor<2xi8>', 7, "expected hexadecimal digits after 0x, got z"),
        ('dense<"0x000"> : tensor<2xi8>', 7, "expected an even number of hexadecimal digits, two per byte, got 3"),
        ("dense<(1.0, 2.0, 3.0)> : tensor<complex<f32>>", 7, "(real,imaginary)"),
        ("dense<x> : tensor<f32>", 7, "a number"),
    ],
)
def test_a_literal_invalid_for_its_type_is_an_error_at_its_location(text: str, column: int, words: str) -> None:
    with pytest.raises(SdyError) as caught:
        parse(text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span is not None
    assert (diagnostic.code, diagnostic.span.line) == ("SDY-P001", 1)
    assert diagnostic.span.column == len("stablehlo.constant ") + column
    assert words in diagnostic.message


def test_a_splat_is_stored_once() -> None:
    kind = TensorType[Attribute](i64, [1000, 1000])
    splat = DenseElementsAttr.from_values(kind, [3])
    assert splat.is_splat
    assert len(splat.data.raw) == 8
    assert DenseElementsAttr.from_values(TensorType(i8, [3]), [5, 5, 5]).data.raw == b"\x05"
    assert parse("dense<[[7, 7], [7, 7]]> : tensor<2x2xi64>").is_splat


def test_from_bytes_rejects_a_wrong_size() -> None:
    with pytest.raises(ValueError, match="3 bytes"):
        DenseElementsAttr.from_bytes(TensorType(i32, [2]), b"abc")


def test_from_values_rejects_values_out_of_range() -> None:
    with pytest.raises(ValueError, match="300"):
        DenseElementsAttr.from_values(TensorType(i8, [1]), [300])


def test_long_lists_are_printed_in_hexadecimal() -> None:
    constant = DenseElementsAttr.from_values(TensorType(i8, [101]), list(range(101)))
    assert str(constant).startswith('dense<"0x000102')
    assert str(DenseElementsAttr.from_values(TensorType(i8, [100]), list(range(100)))).startswith("dense<[0, 1, 2")


@pytest.mark.parametrize("element", [i1, i8, bf16, f32])
def test_equal_constants_are_equal_attributes(element: Attribute) -> None:
    kind = TensorType[Attribute](element, [4])
    one, other = (DenseElementsAttr.from_values(kind, values) for values in ([1], [1, 1, 1, 1]))
    assert one == other
    assert hash(one) == hash(other)


def test_constants_in_attribute_dictionaries_are_parsed() -> None:
    module = parse_module("module attributes {my.value = dense<1> : tensor<2xi32>} {}")
    assert "my.value = dense<1> : tensor<2xi32>" in print_module(module)
