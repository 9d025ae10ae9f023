"""All floats of a program become numbers of a field, except where ops depend on the format."""

from __future__ import annotations

from sdy.dialects.ir.walk import pre_order
from sdy.dialects.module_text import parse_module
from sdy.passes.rewriting.field_types import computes_floats, with_field_types


def ops(text: str) -> list[tuple[str, list[str]]]:
    """Return the name of each op in the function, and the element types of its results."""
    module = with_field_types(parse_module(text))
    return [
        (op.name, [str(result.type).split("x")[-1].removeprefix("tensor<").rstrip(">") for result in op.results])
        for op in pre_order(module)
        if op.results
    ]


def test_types_change_and_constants_stay_as_they_are_written() -> None:
    text = """
func.func @main(%a: tensor<2xbf16>, %c: tensor<complex<f32>>, %i: tensor<i1>) -> tensor<2xf16> {
  %0 = stablehlo.constant dense<[0.1, 2.0]> : tensor<2xf32>
  %1 = stablehlo.convert %a : (tensor<2xbf16>) -> tensor<2xf16>
  %2 = stablehlo.real %c : (tensor<complex<f32>>) -> tensor<f32>
  return %1 : tensor<2xf16>
}"""
    module = parse_module(text)
    changed = with_field_types(module)
    (main,) = changed.ops
    kinds = [str(each.type) for each in main.regions[0].block.args]
    assert kinds == ["tensor<2x!sdy.field>", "tensor<!sdy.complex_field>", "tensor<i1>"]
    assert "!sdy.field" in str(main.properties["function_type"])
    assert "dense<[1.000000e-01, 2.000000e+00]> : tensor<2xf32>" in str(changed)
    assert "!sdy.field" not in str(module)


def test_bits_are_those_of_the_declared_type() -> None:
    found = ops("""
func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2xi32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<2xi32>) -> tensor<2xf32>
  return %1, %0 : tensor<2xf32>, tensor<2xi32>
}""")
    assert found == [
        ("stablehlo.convert", ["f32"]),
        ("stablehlo.bitcast_convert", ["i32"]),
        ("stablehlo.bitcast_convert", ["f32"]),
        ("stablehlo.convert", ["!sdy.field"]),
    ]


def test_printing_is_removed_and_tokens_are_passed_on() -> None:
    text = """
func.func @main(%t: !stablehlo.token, %a: tensor<2xf32>) -> (!stablehlo.token, tensor<2xf32>) {
  %0 = stablehlo.custom_call @print(%t, %a) {has_side_effect = true}
      : (!stablehlo.token, tensor<2xf32>) -> !stablehlo.token
  return %0, %a : !stablehlo.token, tensor<2xf32>
}"""
    assert ops(text) == []


def test_results_of_calls_without_a_kernel_are_numbers_of_the_field() -> None:
    text = """
func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.custom_call @mine(%a) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.custom_call @Sharding(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = stablehlo.add %1, %1 : tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}"""
    module = parse_module(text)
    assert [computes_floats(op) for op in pre_order(module) if op.results] == [True, False, False]
    assert [name for name, _ in ops(text)][:2] == ["stablehlo.custom_call", "stablehlo.convert"]  # before @Sharding
