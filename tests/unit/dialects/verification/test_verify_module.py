# ruff: noqa: E501 (a line of a program is a line here)
from __future__ import annotations

import pytest

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.verification.verify_module import verify_module


def mistake(text: str) -> Diagnostic:
    module = parse_module(text, "file.mlir", context=make_context(allow_unregistered=True))
    with pytest.raises(SdyError) as caught:
        verify_module(module)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def func(*lines: str) -> str:
    """Return a function whose body begins on line 2, column 3."""
    body = "".join(f"  {line}\n" for line in lines)
    return f"func.func @f(%a: tensor<4xf32>, %p: tensor<i1>) {{\n{body}  return\n}}\n"


IF = '%0 = "stablehlo.if"(%p) ({'
MISTAKES = [
    (func('%0 = "stablehlo.add"(%a) : (tensor<4xf32>) -> tensor<4xf32>'), "SDY-D001", 2, 8, "stablehlo.add: expected 2 operands, got 1"),
    (func('%0 = "stablehlo.iota"() : () -> tensor<4xf32>'), "SDY-D001", 2, 8, "expected property iota_dimension, an integer such as 0 : i64"),
    (func('%0 = "stablehlo.iota"() {iota_dimension = "x"} : () -> tensor<4xf32>'), "SDY-D001", 2, 8, 'property iota_dimension must be an integer such as 0 : i64, got "x"'),
    (func('%0 = "stablehlo.reverse"(%a) {dimensions = array<i32: 0>} : (tensor<4xf32>) -> tensor<4xf32>'), "SDY-D001", 2, 8, "must be an array such as array<i64: 0>, got array<i32: 0>"),
    (func('%0 = "stablehlo.compare"(%a, %a) {comparison_direction = 3} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>'), "SDY-D001", 2, 8, "must be a #stablehlo.comparison_direction attribute, got 3 : i64"),
    (func('%0 = "stablehlo.dot"(%a, %a) {precision_config = [3]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>'), "SDY-D001", 2, 8, "must be a list, each element a #stablehlo.precision attribute, got [3 : i64]"),
    (func('"func.call"(%a) {callee = "f"} : (tensor<4xf32>) -> ()'), "SDY-D001", 2, 3, 'property callee must be a symbol such as @f, got "f"'),
    (func('%0 = "stablehlo.abs"(%a) <{x = 1 : i32}> : (tensor<4xf32>) -> tensor<4xf32>'), "SDY-D001", 2, 8, "stablehlo.abs: unknown property x"),
    (func('"func.func"() <{sym_name = "g"}> ({}) : () -> ()'), "SDY-D001", 2, 3, "function_type"),
    ("func.func @f() {\n}", "SDY-D002", 1, 1, "expected a terminator at the end of func.func, got an empty block"),
    ("func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.abs %a : tensor<f32>\n}", "SDY-D002", 2, 8, "expected a terminator at the end of func.func, got stablehlo.abs"),
    (func("%0 = stablehlo.abs %1 : tensor<4xf32>", "%1 = stablehlo.abs %a : tensor<4xf32>"), "SDY-D003", 2, 8, "operand 0 of stablehlo.abs is used before it is defined"),
    (func("%0 = stablehlo.abs %0 : tensor<4xf32>"), "SDY-D003", 2, 8, "before"),
    (func(IF, "  %1 = stablehlo.abs %2 : tensor<4xf32>", "  stablehlo.return %1 : tensor<4xf32>", "}, {",
          "  stablehlo.return %a : tensor<4xf32>", "}) : (tensor<i1>) -> tensor<4xf32>",
          "%2 = stablehlo.abs %a : tensor<4xf32>"), "SDY-D003", 3, 10, "before"),
    (func('"func.func"() <{function_type = () -> tensor<4xf32>, sym_name = "g"}> ({',
          "  func.return %a : tensor<4xf32>", "}) : () -> ()"), "SDY-D004", 3, 17, "%a is defined outside of func.func, which is isolated from above"),
    (func("return"), "SDY-D002", 2, 3, "func.return must be the last op of its block"),
    ("func.func @f(%a: tensor<4xf32>) {\n  stablehlo.return %a : tensor<4xf32>\n}", "SDY-D022", 2, 3, "stablehlo.return: expected 0 operands, one per result of @f, got 1"),
    ("func.func @f(%a: tensor<4xf32>, %s: tensor<f32>) {\n  %0 = stablehlo.reduce(%a init: %s) applies stablehlo.or across dimensions = [0]\n    : (tensor<4xf32>, tensor<f32>) -> tensor<f32>\n  return\n}", "SDY-D017", 2, 8, "booleans or integers"),
    (func("%0 = stablehlo.while(%x = %later) : tensor<4xf32>", "cond {", "  stablehlo.return %p : tensor<i1>", "} do {",
          "  %later = stablehlo.abs %x : tensor<4xf32>", "  stablehlo.return %later : tensor<4xf32>", "}"), "SDY-P003", 2, 29, "undefined value %later"),
    ("func.func @f() -> i32 {\n  return\n}", "SDY-D022", 2, 3, "func.return: expected 1 operand, one per result of @f, got 0"),
    ("func.func @f(%a: i64) -> i32 {\n  return %a : i64\n}", "SDY-D022", 2, 3, "result 0 of @f must have type i32, got i64"),
    (func("call @g() : () -> ()"), "SDY-D023", 2, 3, "no function is named @g"),
    (func("call @f(%p, %a) : (tensor<i1>, tensor<4xf32>) -> ()"), "SDY-D023", 2, 3, "argument 0 of @f must have type tensor<4xf32>, got tensor<i1>"),
    (func("call @f(%a) : (tensor<4xf32>) -> ()"), "SDY-D023", 2, 3, "func.call: expected 2 operands, one per argument of @f, got 1"),
    (func('stablehlo.composite "my.op" %a {decomposition = @g} : (tensor<4xf32>) -> ()'), "SDY-D023", 2, 3, "@g"),
    (func('"func.func"() <{function_type = (i32) -> (), sym_name = "g"}> ({', "^bb0(%x: i64):", '  "func.return"() : () -> ()', "}) : () -> ()"), "SDY-D021", 2, 3, "argument 0 of @g must have type i32, got i64"),
    (func('"func.func"() <{arg_attrs = [{}], function_type = () -> (), sym_name = "g", sym_visibility = "private"}> ({',
          "}) : () -> ()"), "SDY-D021", 2, 3, "arg_attrs must have one entry per value: expected 0, got 1"),
    ("func.func @f(%a: i64, %b: i64 {note}) {\n  return\n}", "SDY-D024", 1, 1, "argument 1 of @f has the attribute note, which is of no dialect"),
    ("func.func private @f() -> (i64 {jax.result_info = \"x\", note = 1 : i64})", "SDY-D024", 1, 1, "result 0 of @f has the attribute note"),
    ("sdy.mesh @m = <[\"x\"=2]>\nfunc.func @f(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{\"y\"}]>}) {\n  return\n}", "SDY-S201", 2, 14, '"y"'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "line", "column", "words"), MISTAKES)
def test_the_first_problem_is_one_error_at_its_op(text: str, code: str, line: int, column: int, words: str) -> None:
    try:
        diagnostic = mistake(text)
    except SdyError as error:  # found while parsing
        (diagnostic,) = error.diagnostics
    assert diagnostic.span is not None
    assert (diagnostic.code, diagnostic.span.line, diagnostic.span.column) == (code, line, column)
    assert words in diagnostic.message


def test_an_error_about_an_argument_is_at_the_argument() -> None:
    wrong = ' {sdy.sharding = #sdy.sharding<@m, [{"y"}]>}'
    header = f"%a: tensor<4xf32>,GAP%b: tensor<4xf32>{wrong}"
    text = 'sdy.mesh @m = <["x"=2]>\nfunc.func @f(ARGS) {\n  return\n}'
    on_its_line = mistake(text.replace("ARGS", header.replace("GAP", " ")))
    assert on_its_line.span is not None
    assert (on_its_line.span.line, on_its_line.span.column, on_its_line.notes) == (2, 33, ())
    below = mistake(text.replace("ARGS", header.replace("GAP", "\n    ")))
    assert below.span is not None
    assert below.notes[0].span is not None
    assert (below.span.line, below.notes[0].span.line, below.notes[0].span.column) == (2, 3, 5)


@pytest.mark.parametrize("location", ['loc("b")', "loc(#loc1)", 'loc("train.py":1:2)', "loc(unknown)"])
def test_an_error_about_an_argument_with_a_location_is_at_the_argument(location: str) -> None:
    wrong = '{sdy.sharding = #sdy.sharding<@m, [{"y"}]>}'
    arguments = f'%a: tensor<4xf32> loc("a"), %b: tensor<4xf32> {wrong} {location}'
    text = f'sdy.mesh @m = <["x"=2]>\nfunc.func @f({arguments}) {{\n  return\n}}\n#loc1 = loc("b")'
    span = mistake(text).span
    assert span is not None
    assert (span.line, span.column) == (2, text.splitlines()[1].index("%b") + 1)


def test_a_use_before_the_definition_shows_both() -> None:
    diagnostic = mistake(func("%0 = stablehlo.add %a, %1 : tensor<4xf32>", "%1 = stablehlo.abs %a : tensor<4xf32>"))
    (note,) = diagnostic.notes
    assert diagnostic.message == "operand 1 of stablehlo.add is used before it is defined"
    assert note.span is not None
    assert (note.message, note.span.line) == ("stablehlo.abs defines it here", 3)


def test_values_of_enclosing_regions_are_visible() -> None:
    text = func(
        "%1 = stablehlo.abs %a : tensor<4xf32>",
        IF,
        "  stablehlo.return %1 : tensor<4xf32>",
        "}, {",
        "  stablehlo.return %a : tensor<4xf32>",
        "}) : (tensor<i1>) -> tensor<4xf32>",
    )
    verify_module(parse_module(text))


def test_only_ops_with_equal_signatures_share_a_verdict() -> None:
    # The second `add` differs from the first in one type, so the cached result of the first must not apply.
    text = """func.func @f(%a: tensor<4xf32>, %b: tensor<4xf64>) {
  %0 = "stablehlo.add"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}"""
    diagnostic = mistake(text)
    assert diagnostic.span is not None
    assert (diagnostic.code, diagnostic.span.line) == ("SDY-D013", 3)


def test_signatures_of_ops_include_their_region_types() -> None:
    choice = [IF, "  stablehlo.return %a : tensor<4xf32>", "}, {", "  stablehlo.return %a : tensor<4xf32>"]
    other = [IF.replace("%0", "%1"), *choice[1:3], "  stablehlo.return %p : tensor<i1>"]
    end = "}) : (tensor<i1>) -> tensor<4xf32>"
    diagnostic = mistake(func(*choice, end, *other, end))
    assert diagnostic.span is not None
    assert diagnostic.span.line == 7
    assert (
        "expected the values returned by branch 1 to have types (tensor<4xf32>), got (tensor<i1>)" in diagnostic.message
    )


def test_ops_of_unknown_dialects_may_branch() -> None:
    text = '"a.b"() ({\n  %0 = "a.c"() : () -> i32\n  "a.br"()[^bb1] : () -> ()\n^bb1:\n  "a.d"(%0) : (i32) -> ()\n}) : () -> ()'
    verify_module(parse_module(text, context=make_context(allow_unregistered=True)))
