"""Quantized elements: conversion, arithmetic and data movement."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.execution.run_text import error_of, f32, run

from sdy.interpreter.arrays.element_types import Array

PLAIN = "!quant.uniform<i8:f32, 5.000000e-01:3>"
NARROW = "!quant.uniform<u8<1:200>:f32, 2.500000e-01:100>"
COARSE = "!quant.uniform<i8:f32, 2.000000e+00>"
PER_AXIS = "!quant.uniform<i8:f32:0, {1.000000e-01:-30,5.000000e-01:-20}>"
PER_COLUMN = "!quant.uniform<i8:f32:1, {1.000000e+00,5.000000e-01:10,2.000000e+00:-4}>"


def through(kind: str, shape: str, line: str, *inputs: Array) -> Array:
    """Quantize inputs as `%q0`, `%q1`..., run a line on them and return its result `%r` as floats."""
    floats, stored = f"tensor<{shape}xf32>", f"tensor<{shape}x{kind}>"
    arguments = ", ".join(f"%x{index}: {floats}" for index in range(len(inputs)))
    lines = [f"%q{p} = stablehlo.uniform_quantize %x{p} : ({floats}) -> {stored}" for p in range(len(inputs))]
    lines += [line, f"%f = stablehlo.uniform_dequantize %r : ({stored}) -> {floats}", f"return %f : {floats}"]
    body = "\n  ".join(lines)
    return run(f"func.func @main({arguments}) -> {floats} {{\n  {body}\n}}", *inputs)[0]


def stored(kind: str, shape: str, floats: Array) -> Array:
    text = f"%r = stablehlo.uniform_quantize %x : (tensor<{shape}xf32>) -> tensor<{shape}x{kind}>"
    return run(
        f"func.func @main(%x: tensor<{shape}xf32>) -> tensor<{shape}x{kind}> {{\n  {text}\n"
        f"  return %r : tensor<{shape}x{kind}>\n}}",
        floats,
    )[0]


def test_the_nearest_element_is_stored_with_ties_to_even_and_within_the_range() -> None:
    floats = f32(0, 0.5, 0.74, 0.25, 0.75, 1e9, -np.inf, np.nan)
    assert stored(PLAIN, "8", floats).tolist() == [3, 4, 4, 3, 5, 127, -128, 3]
    assert stored(PLAIN, "8", floats).dtype == np.int8
    assert stored(NARROW, "8", floats).tolist() == [100, 102, 103, 101, 103, 200, 1, 100]


def test_each_slice_has_its_own_scale() -> None:
    floats = f32(1, 1, 1, -3, -3, -3).reshape(2, 3)
    assert stored(PER_COLUMN, "2x3", floats).tolist() == [[1, 12, -4], [-3, 4, -6]]


def test_storage_of_few_bits() -> None:
    found = stored("!quant.uniform<u4:f32, 1.000000e+00:8>", "3", f32(-20, 0, 20))
    assert found.dtype == np.dtype(ml_dtypes.uint4)
    assert found.astype(np.int8).tolist() == [0, 8, 15]


@given(st.lists(st.floats(-60, 60, width=32), min_size=4, max_size=4))
def test_round_trip_error_is_at_most_half_a_step(numbers: list[float]) -> None:
    kind = f"tensor<4x{PLAIN}>"
    found = through(PLAIN, "4", f"%r = stablehlo.optimization_barrier %q0 : {kind}", f32(*numbers))
    assert (np.abs(np.subtract(found, f32(*numbers))) <= 0.25).all()


def test_sums_and_products_are_those_of_the_floats() -> None:
    kind = f"tensor<3x{PLAIN}>"
    x, y = f32(1, 2.6, -40), f32(2, 0.5, -40)
    assert through(PLAIN, "3", f"%r = stablehlo.add %q0, %q1 : {kind}", x, y).tolist() == [3, 3, -65.5]
    product = through(PLAIN, "3", f"%r = stablehlo.multiply %q0, %q1 : {kind}", x, y)
    assert product.tolist() == [2, 1, 62]  # 1.25 is a tie, and the even element is 1.0


def test_a_product_of_matrices() -> None:
    kind = f"tensor<2x2x{PLAIN}>"
    line = f"%r = stablehlo.dot_general %q0, %q1, contracting_dims = [1] x [0] : ({kind}, {kind}) -> {kind}"
    x, y = f32(1, 2, 3, 4).reshape(2, 2), f32(1, 0, 0.5, 1).reshape(2, 2)
    assert through(PLAIN, "2x2", line, x, y).tolist() == [[2, 2], [5, 4]]


def test_stored_elements_are_moved_unchanged() -> None:
    kind = f"tensor<3x{PLAIN}>"
    found = through(PLAIN, "3", f"%r = stablehlo.reverse %q0, dims = [0] : {kind}", f32(1, 2.6, -40))
    assert found.tolist() == [-40, 2.5, 1]


def test_bits_of_stored_elements_are_read_and_written() -> None:
    kind = f"tensor<2x{PER_AXIS}>"
    text = f"""func.func @main(%b: tensor<2xi8>) -> (tensor<2xf32>, tensor<2xi8>) {{
      %q = stablehlo.bitcast_convert %b : (tensor<2xi8>) -> {kind}
      %f = stablehlo.uniform_dequantize %q : ({kind}) -> tensor<2xf32>
      %r = stablehlo.bitcast_convert %q : ({kind}) -> tensor<2xi8>
      return %f, %r : tensor<2xf32>, tensor<2xi8>
    }}"""
    floats, bits = run(text, np.array([10, 10], np.int8))
    assert (floats.tolist(), bits.tolist()) == ([4, 15], [10, 10])


def test_operands_may_have_different_scales() -> None:
    kinds = f"tensor<2x{PLAIN}>", f"tensor<2x{COARSE}>"
    lines = [
        f"%{name} = stablehlo.bitcast_convert %b : (tensor<2xi8>) -> {kind}"
        for name, kind in zip("pc", kinds, strict=True)
    ]
    lines.append(f"%s = stablehlo.add %p, %c : ({kinds[0]}, {kinds[1]}) -> {kinds[1]}")
    lines.append(f"%r = stablehlo.bitcast_convert %s : ({kinds[1]}) -> tensor<2xi8>")
    body = "\n".join(lines)
    text = f"func.func @main(%b: tensor<2xi8>) -> tensor<2xi8> {{ {body}\n return %r : tensor<2xi8> }}"
    # As floats, (5 - 3) / 2 + 5 * 2 = 11 and (9 - 3) / 2 + 9 * 2 = 21; both are ties between even and odd.
    assert run(text, np.array([5, 9], np.int8))[0].tolist() == [6, 10]


def test_a_constant_is_given_by_its_stored_elements() -> None:
    kind = f"tensor<2x{PLAIN}>"
    text = f"""func.func @main() -> tensor<2xf32> {{
      %q = stablehlo.constant() <{{value = dense<[5, 9]> : tensor<2xi8>}}> : () -> {kind}
      %f = stablehlo.uniform_dequantize %q : ({kind}) -> tensor<2xf32>
      return %f : tensor<2xf32>
    }}"""
    assert run(text)[0].tolist() == [1, 3]
    unsigned = text.replace(PLAIN, NARROW).replace("[5, 9]", "[-56, 100]")  # -56 has the bits of 200
    assert run(unsigned)[0].tolist() == [25, 0]


def test_requantizing_rounds_to_the_nearest_elements() -> None:
    wide = "!quant.uniform<i8:f32, 2.000000e+00>"
    line = f"%s = stablehlo.uniform_quantize %q0 : (tensor<3x{PLAIN}>) -> tensor<3x{wide}>\n"
    line += f"  %r = stablehlo.uniform_quantize %s : (tensor<3x{wide}>) -> tensor<3x{PLAIN}>"
    assert through(PLAIN, "3", line, f32(1.5, 3.5, -2)).tolist() == [2, 4, -2]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            f"%r = stablehlo.convert %q : (tensor<2x{PLAIN}>) -> tensor<2xi8>",
            "stablehlo.convert does not support",
        ),
        (f"%r = stablehlo.reshape %q : (tensor<2x{PLAIN}>) -> tensor<2x{NARROW}>", "cannot move elements between"),
    ],
)
def test_invalid_quantized_ops_are_rejected(line: str, problem: str) -> None:
    result = line.rpartition("-> ")[2]
    text = f"func.func @main(%q: tensor<2x{PLAIN}>) -> {result} {{\n  {line}\n  return %r : {result}\n}}"
    found = error_of(text, np.zeros(2, np.int8))
    assert found.code == "SDY-X107"
    assert problem in found.message
    assert found.span is not None
