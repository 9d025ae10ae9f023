"""Tests of printed text: names of values, and forms of attributes and types."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp

from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.dialects.text.printer import print_operation

NESTED = """
func.func @f(%a: tensor<f32>, %i: tensor<i32>, %p: tensor<i1>) {
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %f1 = stablehlo.constant dense<1.0> : tensor<f32>
  %c2 = stablehlo.constant dense<2> : tensor<i32>
  %w:2 = stablehlo.while(%k = %i, %x = %a) : tensor<i32>, tensor<f32>
    cond {
    stablehlo.return %p : tensor<i1>
  } do {
    %c3 = stablehlo.constant dense<3> : tensor<i32>
    %s = stablehlo.add %k, %c3 : tensor<i32>
    stablehlo.return %s, %x : tensor<i32>, tensor<f32>
  }
  %r = stablehlo.add %w#1, %f1 : tensor<f32>
  return
}
func.func @g(%a: tensor<f32>) -> tensor<f32> {
  return %a : tensor<f32>
}
"""


def test_values_are_numbered_region_by_region() -> None:
    assert print_module(parse_module(NESTED)).splitlines()[1:-1] == [
        "  func.func @f(%arg0: tensor<f32>, %arg1: tensor<i32>, %arg2: tensor<i1>) {",
        "    %c = stablehlo.constant dense<1> : tensor<i32>",
        "    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>",
        "    %c_0 = stablehlo.constant dense<2> : tensor<i32>",
        "    %0:2 = stablehlo.while(%iterArg = %arg1, %iterArg_1 = %arg0) : tensor<i32>, tensor<f32>",
        "    cond {",
        "      stablehlo.return %arg2 : tensor<i1>",
        "    } do {",
        "      %c_2 = stablehlo.constant dense<3> : tensor<i32>",
        "      %2 = stablehlo.add %iterArg, %c_2 : tensor<i32>",
        "      stablehlo.return %2, %iterArg_1 : tensor<i32>, tensor<f32>",
        "    }",
        "    %1 = stablehlo.add %0#1, %cst : tensor<f32>",
        "    return",
        "  }",
        "  func.func @g(%arg0: tensor<f32>) -> tensor<f32> {",
        "    return %arg0 : tensor<f32>",
        "  }",
    ]


def test_numbers_are_unique_in_generic_form() -> None:
    text = print_module(parse_module(NESTED), generic=True)
    defined = [word for line in text.splitlines() if "=" in line for word in [line.split("=")[0].split(":")[0].strip()]]
    names = [name for name in defined if name.startswith("%")]
    assert len(names) == len(set(names)) == 7
    assert "^bb0(%arg0: tensor<f32>):" in text  # the last function is numbered first
    assert "%cst" not in text


def test_printing_an_op_names_only_its_own_values() -> None:
    module = parse_module(NESTED)
    func = module.body.block.first_op
    assert isinstance(func, FuncOp)
    op = func.body.block.first_op
    assert op is not None
    assert print_operation(op) == "%c = stablehlo.constant dense<1> : tensor<i32>"
    last = func.body.block.last_op
    assert last is not None
    user = last.prev_op
    assert user is not None
    assert print_operation(user).startswith("%0 = stablehlo.add %<<UNKNOWN SSA VALUE>>")


def test_dictionaries_are_sorted_and_names_quoted() -> None:
    module = parse_module("")
    module.attributes = {
        "z": IntegerAttr(1, i32),
        "a b": UnitAttr(),
        "a": DictionaryAttr({"y": StringAttr('é"\\\n'), "x": UnitAttr()}),
    }
    expected = 'module attributes {a = {x, y = "\\C3\\A9\\22\\\\\\0A"}, "a b", z = 1 : i32} {\n}\n'
    assert print_module(module) == expected
    assert print_module(parse_module(expected)) == expected


def test_numbers_in_lists_omit_default_types() -> None:
    module = parse_module("")
    numbers = [IntegerAttr(1, i64), IntegerAttr(2, i32), FloatAttr(0.5, f64), FloatAttr(0.5, f32)]
    module.attributes = {"x": ArrayAttr([*numbers, ArrayAttr([IntegerAttr(3, i64)])]), "y": IntegerAttr(1, i64)}
    shown = "x = [1, 2 : i32, 5.000000e-01, 5.000000e-01 : f32, [3]], y = 1 : i64"
    assert print_module(module) == f"module attributes {{{shown}}} {{\n}}\n"


def test_nested_functions_are_printed_with_the_full_op_name() -> None:
    text = """
func.func @f(%p: tensor<i1>) {
  call @g() : () -> ()
  "stablehlo.if"(%p) ({
    func.call @g() : () -> ()
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> ()
  return
}
func.func private @g()
"""
    lines = [line.strip() for line in print_module(parse_module(text)).splitlines()]
    assert "call @g() : () -> ()" in lines
    assert "func.call @g() : () -> ()" in lines


def test_unregistered_ops_keep_blocks_and_successors() -> None:
    text = '"a.b"() ({\n  "a.br"()[^bb1] : () -> ()\n^bb1:\n  "a.end"() <{p = 1 : i32}> {q} : () -> ()\n}) : () -> ()'
    context = make_context(allow_unregistered=True)
    printed = print_module(parse_module(text, context=context))
    assert print_module(parse_module(printed, context=context)) == printed
    assert '"a.br"()[^bb1] : () -> ()' in printed
    assert '"a.end"() <{p = 1 : i32}> {q} : () -> ()' in printed


def test_xdsl_prints_loops_with_the_names_of_their_header() -> None:
    """As `str` of an op does. The text that it prints is parsed to the same module."""
    module = parse_module(
        """
        func.func @main(%start: tensor<i32>, %stop: tensor<i32>) -> tensor<i32> {
          %0:2 = stablehlo.while(%i = %start, %j = %stop) : tensor<i32>, tensor<i32>
          cond {
            %1 = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %1 : tensor<i1>
          } do {
            %1 = stablehlo.add %i, %i : tensor<i32>
            stablehlo.return %1, %j : tensor<i32>, tensor<i32>
          }
          return %0#0 : tensor<i32>
        }"""
    )
    assert print_module(parse_module(str(module))) == print_module(module)
