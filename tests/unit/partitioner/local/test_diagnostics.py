"""Diagnostics of `sdy-convert-global-to-local`: one at the op, before any op is changed."""

from __future__ import annotations

import pytest

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.passes.export.local.convert_global_to_local import ConvertGlobalToLocalPass

MESH = 'sdy.mesh @m = <["x"=2, "y"=2]>\n'
X = 'tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}'
BY_X = '{sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}'
BY_Y = '{sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}, {}]>]>}'

OPS_WITH_ERRORS = {
    "SDY-L001": "%0 = stablehlo.custom_call @unheard_of(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>",
    "SDY-L002": f"%0 = stablehlo.tanh %a {BY_Y} : tensor<8x4xf32>",
    "SDY-L003": f"%0 = stablehlo.iota dim = 0 {BY_X} : tensor<3x4xi32>",
    "SDY-L011": f"%0 = stablehlo.reverse %a, dims = [0] {BY_X} : tensor<8x4xf32>",
    "SDY-L012": f"%0 = stablehlo.slice %a [1:5, 0:4] {BY_X} : (tensor<8x4xf32>) -> tensor<4x4xf32>",
    "SDY-L013": '%0 = sdy.reshard %a <@m, [{"y"}, {}]> : tensor<8x4xf32>',
}


def error_of(text: str) -> Diagnostic:
    module = parse_module(text, "test.mlir")
    before = print_module(module)
    with pytest.raises(SdyError) as raised:
        ConvertGlobalToLocalPass().apply(make_context(), module)
    assert print_module(module) == before
    (diagnostic,) = raised.value.diagnostics
    return diagnostic


@pytest.mark.parametrize("code", OPS_WITH_ERRORS)
def test_error_at_op_without_local_form(code: str) -> None:
    line = OPS_WITH_ERRORS[code]
    diagnostic = error_of(f"{MESH}func.func @main(%a: {X}) {{\n  {line}\n  return\n}}")
    assert diagnostic.code == code
    assert diagnostic.span is not None
    assert diagnostic.span.line == 3
    assert diagnostic.hint is not None


def test_error_for_windows_across_shards() -> None:
    window = f"""%0 = "stablehlo.reduce_window"(%a, %z) <{{
  window_dimensions = array<i64: 9, 1>, padding = dense<[[4, 4], [0, 0]]> : tensor<2x2xi64>
}}> ({{
^bb0(%p: tensor<f32>, %q: tensor<f32>):
  %s = stablehlo.add %p, %q : tensor<f32>
  stablehlo.return %s : tensor<f32>
}}) {BY_X} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>"""
    diagnostic = error_of(f"{MESH}func.func @main(%a: {X}, %z: tensor<f32>) {{\n{window}\nreturn\n}}")
    assert diagnostic.code == "SDY-L012"


@pytest.mark.parametrize(
    "body",
    [
        f"func.func @main(%a: {X}) -> tensor<8x4xf32> {{\n  return %a : tensor<8x4xf32>\n}}",
        f"func.func @main(%a: {X}) {{\n  func.call @f(%a) : (tensor<8x4xf32>) -> ()\n  return\n}}\n"
        "func.func private @f(%a: tensor<8x4xf32>) {\n  return\n}",
        f"func.func @main(%a: {X}) {{\n  %0 = stablehlo.optimization_barrier %a : tensor<8x4xf32>\n  return\n}}",
    ],
    ids=("returned", "passed to a function", "passed to a result"),
)
def test_error_for_passed_value_with_other_sharding(body: str) -> None:
    diagnostic = error_of(MESH + body)
    assert diagnostic.code == "SDY-L013"
    assert '[{"x"}, {}]' in diagnostic.message
    assert "replicated" in diagnostic.message


def test_error_for_one_axis_on_different_factors() -> None:
    body = (
        '%0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> "
        '{sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<8x4xf32>, tensor<4x1xi32>) '
        "-> tensor<4x4xf32>"
    )
    indices = 'tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}'
    assert error_of(f"{MESH}func.func @main(%a: {X}, %i: {indices}) {{\n{body}\nreturn\n}}").code == "SDY-L002"


def test_equal_ops_with_different_shardings_are_both_checked() -> None:
    lines = f"%0 = stablehlo.tanh %a {BY_X} : tensor<8x4xf32>\n%1 = stablehlo.tanh %a {BY_Y} : tensor<8x4xf32>"
    diagnostic = error_of(f"{MESH}func.func @main(%a: {X}) {{\n{lines}\nreturn\n}}")
    assert diagnostic.code == "SDY-L002"
    assert diagnostic.span is not None
    assert diagnostic.span.line == 4
