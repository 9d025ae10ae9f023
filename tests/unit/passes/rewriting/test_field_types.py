"""All floats of a program get 64 bits, except where ops depend on the format."""

from __future__ import annotations

from sdy.passes.rewriting.widen_floats import widen_floats

from sdy.dialects.module_text import parse_module, print_module
from sdy.dialects.verification.verify_module import verify_module


def widened(text: str) -> str:
    module = parse_module(text)
    widen_floats(module)
    verify_module(module)
    return print_module(module)


def test_types_and_constants() -> None:
    assert widened("""
func.func @main(%a: tensor<2xbf16>, %c: tensor<complex<f32>>, %i: tensor<i1>) -> tensor<2xf16> {
  %0 = stablehlo.constant dense<[0.1, 2.0]> : tensor<2xf32>
  %1 = stablehlo.convert %a : (tensor<2xbf16>) -> tensor<2xf16>
  %2 = stablehlo.reduce_precision %1, format = e5m2 : tensor<2xf16>
  return %2 : tensor<2xf16>
}""").splitlines()[1:5] == [
        "  func.func @main(%arg0: tensor<2xf64>, %arg1: tensor<complex<f64>>, %arg2: tensor<i1>) -> tensor<2xf64> {",
        "    %cst = stablehlo.constant dense<[0.10000000149011612, 2.000000e+00]> : tensor<2xf64>",
        "    %0 = stablehlo.convert %arg0 : tensor<2xf64>",
        "    return %0 : tensor<2xf64>",
    ]


def test_bits_are_those_of_the_declared_type() -> None:
    lines = widened("""
func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2xi32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<2xi32>) -> tensor<2xf32>
  return %1, %0 : tensor<2xf32>, tensor<2xi32>
}""").splitlines()
    assert lines[2:7] == [
        "    %0 = stablehlo.convert %arg0 : (tensor<2xf64>) -> tensor<2xf32>",
        "    %1 = stablehlo.bitcast_convert %0 : (tensor<2xf32>) -> tensor<2xi32>",
        "    %2 = stablehlo.bitcast_convert %1 : (tensor<2xi32>) -> tensor<2xf32>",
        "    %3 = stablehlo.convert %2 : (tensor<2xf32>) -> tensor<2xf64>",
        "    return %3, %1 : tensor<2xf64>, tensor<2xi32>",
    ]


def test_printing_is_removed_and_tokens_are_passed_on() -> None:
    text = widened("""
func.func @main(%t: !stablehlo.token, %a: tensor<2xf32>) -> (!stablehlo.token, tensor<2xf32>) {
  %0 = stablehlo.custom_call @print(%t, %a) {has_side_effect = true}
      : (!stablehlo.token, tensor<2xf32>) -> !stablehlo.token
  return %0, %a : !stablehlo.token, tensor<2xf32>
}""")
    assert "custom_call" not in text
    assert "return %arg0, %arg1" in text
