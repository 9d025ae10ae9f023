# ruff: noqa: E501 (a line of a program is a line here)
from __future__ import annotations

import pytest
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, render
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.module_text import make_context, parse_module, print_module


def mistake(text: str, *, first_line: int = 1) -> Diagnostic:
    with pytest.raises(SdyError) as caught:
        parse_module(text, "file.mlir", first_line=first_line)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def func(*lines: str) -> str:
    """Return a function whose body begins on line 2, column 3."""
    body = "".join(f"  {line}\n" for line in lines)
    return f"func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>) {{\n{body}  return\n}}\n"


SYNTAX = [
    (func("%0 = stablehlo.add %a %a : tensor<4xf32>"), 2, 25, "expected ':'"),
    (func("%0 = stablehlo.transpose %a, dims [0] : (tensor<4xf32>) -> tensor<4xf32>"), 2, 37, "'='"),
    (func("%0 = stablehlo.transpose %a : (tensor<4xf32>) -> tensor<4xf32>"), 2, 31, "expected , dims ="),
    (
        func("%0 = stablehlo.transpose %a, dims = [99999999999999999999] : tensor<4xf32>"),
        2,
        40,
        "expected a 64-bit integer",
    ),
    (func("%0 = stablehlo.compare XX, %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>"), 2, 26, "'EQ'"),
    (func("%0 = stablehlo.fft %a, type = FOO, length = [4] : (tensor<4xf32>) -> tensor<4xf32>"), 2, 33, "'FFT'"),
    (func("%0 = stablehlo.reduce_precision %a, format = 5m10 : tensor<4xf32>"), 2, 48, "identifier"),
    (func("%0 = stablehlo.reduce_precision %a, format = f5m10 : tensor<4xf32>"), 2, 48, "like e5m10"),
    (func("%0 = stablehlo.slice %a [0:4:1:1] : (tensor<4xf32>) -> tensor<4xf32>"), 2, 33, "']' expected"),
    (func("%0 = stablehlo.complex %a, %a : tensor<4xf32>"), 2, 35, "complex elements"),
    (func("%0 = stablehlo.tuple %a : tensor<4xf32>"), 2, 29, "a tuple type"),
    (func("%0 = stablehlo.constant 5 : i32"), 2, 27, "expected dense<...> : type, got 5 : i32"),
    (func("%0 = stablehlo.all_gather %a : tensor<4xf32>"), 2, 29, "does not have a custom format"),
    (func("%0 = stablehlo.add %a, : tensor<4xf32>"), 2, 26, "expected an operand or a clause after the comma"),
    (
        func("stablehlo.iota dim = 0 : tensor<4x9223372036854775808xf32>"),
        2,
        37,
        "dims must be at most 9223372036854775807, got 9223372036854775808",
    ),
    (func("stablehlo.iota dim = 0 : tensor<-4xf32>"), 2, 35, "expected a dim or an element type, got -"),
    (func("stablehlo.add %a, %a : i99999999"), 2, 26, "integer types must have at most 16777215 bits, got i99999999"),
    (
        func("%0 = stablehlo.add %a, %a {x = 300 : i8} : tensor<4xf32>"),
        2,
        34,
        "expected an integer from -128 to 255, got 300",
    ),
    (
        func("%0 = stablehlo.add %a, %a {x = array<i7: 1>} : tensor<4xf32>"),
        2,
        40,
        "expected i1, i8, i16, i32, i64, f32 or f64 as element type of an array, got i7",
    ),
    (func("%0 = stablehlo.add %a, %a {x = 1, x} : tensor<4xf32>"), 2, 40, "duplicate key 'x'"),
    ("func.func @f() {", 1, 17, "expected } before the end of the text"),
    ("module {\n  func.func @f() {\n    return\n  }\n", 5, 1, "expected } before the end of the text"),
    ("module }", 1, 8, "expected region"),
    ("func.func @f(%a: tensor<4xf32>, i32) { return }", 1, 38, "either all arguments must have names, or none"),
    ("func.func @f(%a: tensor<4xf32>)", 1, 32, "expected a body of the function, because its arguments have names"),
    ("}", 1, 1, "expected the name of an op"),
    ("module { \x00 }", 1, 10, "unexpected character"),
]


@pytest.mark.parametrize(("text", "line", "column", "words"), SYNTAX)
def test_a_syntax_error_is_one_diagnostic_at_its_location(text: str, line: int, column: int, words: str) -> None:
    diagnostic = mistake(text)
    assert diagnostic.span is not None
    assert diagnostic.code == "SDY-P001"
    assert (diagnostic.span.file, diagnostic.span.line, diagnostic.span.column) == ("file.mlir", line, column)
    assert words in diagnostic.message


NAMES = [
    (func("%0 = stablehlo.tranpose %a : tensor<4xf32>"), "SDY-P002", 2, 8, "unknown op stablehlo.tranpose", "stablehlo.transpose"),
    (func('%0 = "stablehlo.absolute"(%a) : (tensor<4xf32>) -> ()'), "SDY-P002", 2, 8, "stablehlo.absolute", "stablehlo."),
    (func("%0 = whatever.op %a"), "SDY-P002", 2, 8, "unknown op whatever.op", "load dialect whatever with --load, or write the generic form"),
    (func("retrun"), "SDY-P002", 2, 3, "unknown op retrun", "func.return"),
    (func("%0 = stablehlo.add %a, %c : tensor<4xf32>"), "SDY-P003", 2, 26, "undefined value %c", None),
    (func("%0 = stablehlo.add %a, %a#1 : tensor<4xf32>"), "SDY-P003", 2, 26, "%a has 1 result, but #1 is used", None),
    (func('"unknown.br"()[^bb7] : () -> ()'), "SDY-P002", 2, 3, "unknown.br", "--allow-unregistered-dialect"),
    (func("%0 = stablehlo.mul %a, %a : tensor<4xf32>"), "SDY-P002", 2, 8, "stablehlo.mul", "stablehlo.multiply"),
    (func("%0 = stabelhlo.add %a, %a : tensor<4xf32>"), "SDY-P002", 2, 8, "stabelhlo.add", "stablehlo.add"),
    (func("%0 = tanh %a : tensor<4xf32>"), "SDY-P002", 2, 8, "unknown op tanh", "stablehlo.tanh"),
    ("foo", "SDY-P002", 1, 1, "unknown op foo", None),
    ("  quux @f", "SDY-P002", 1, 3, "unknown op quux", None),
    (func("stablehlo.add %a, %a {x = #undefined} : tensor<4xf32>"), "SDY-P003", 2, 29, "undefined alias #undefined", None),
    ("#one = 1 : i32\nmodule attributes {x = #on} {}", "SDY-P003", 2, 24, "undefined alias #on", "#one"),
    ("#a = 1 : i32\n#a = 2 : i32", "SDY-P004", 2, 1, "#a is already defined", "rename"),
    (func("%0 = stablehlo.abs %a : tensor<4xf33>"), "SDY-P006", 2, 36, "unknown element type f33", "f32"),
    (func("%0 = stablehlo.abs %a : tensor<*xf33>"), "SDY-P006", 2, 36, "unknown element type f33", "f32"),
    (func("%a = stablehlo.abs %a : tensor<4xf32>"), "SDY-P004", 2, 3, "%a is already defined", "rename one"),
    (func("%0 = stablehlo.add %a, %b : tensor<4xf32>"), "SDY-P005", 2, 26, "%b is used with type tensor<4xf32>, but has type tensor<2xf32>", None),
    (func("%0 = stablehlo.abs %1 : tensor<4xf32>", "%1 = stablehlo.abs %b : tensor<2xf32>"), "SDY-P005", 2, 22, "tensor<2xf32>", None),
    (func("%0:2 = stablehlo.abs %a : tensor<4xf32>"), "SDY-P009", 2, 3, "stablehlo.abs has 1 result, but 2 names", None),
    (func("%0 = stablehlo.add %a, %a : (tensor<4xf32>) -> tensor<4xf32>"), "SDY-P010", 2, 31, "expected one type per operand, got 2 operands and 1 type", None),
    (func("stablehlo.add %a, %a {x = #foo.bar} : tensor<4xf32>"), "SDY-P006", 2, 30, "unknown attribute foo.bar", "--allow-unregistered-dialect"),
    (func("%0 = stablehlo.create_token : !stablehlo.tken"), "SDY-P006", 2, 34, "unknown type stablehlo.tken", "stablehlo.token"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "line", "column", "words", "hint"), NAMES)
def test_an_unknown_name_is_one_diagnostic_at_its_location(
    text: str, code: str, line: int, column: int, words: str, hint: str | None
) -> None:
    diagnostic = mistake(text)
    assert diagnostic.span is not None
    assert (diagnostic.code, diagnostic.span.line, diagnostic.span.column) == (code, line, column)
    assert words in diagnostic.message
    assert hint is None if diagnostic.hint is None else hint is not None and hint in diagnostic.hint


def test_values_are_scoped_to_their_function() -> None:
    text = (
        "func.func @f() {\n  %0 = stablehlo.abs %later : tensor<f32>\n  return\n}\n"
        "func.func @g(%later: tensor<f32>) {\n  return\n}\n"
    )
    diagnostic = mistake(text)
    assert (diagnostic.code, diagnostic.message) == ("SDY-P003", "undefined value %later")
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column) == (2, 22)


def test_sibling_regions_may_reuse_names() -> None:
    text = func(
        "%p = stablehlo.constant dense<true> : tensor<i1>",
        '%0 = "stablehlo.if"(%p) ({',
        "  %x = stablehlo.abs %a : tensor<4xf32>",
        "  stablehlo.return %x : tensor<4xf32>",
        "}, {",
        "  %x = stablehlo.negate %a : tensor<4xf32>",
        "  stablehlo.return %x : tensor<4xf32>",
        "}) : (tensor<i1>) -> tensor<4xf32>",
    )
    assert print_module(parse_module(text)).count("stablehlo.return") == 2


def test_deep_nesting_is_a_diagnostic() -> None:
    nested = "[" * 5000 + "]" * 5000
    assert mistake(f"module attributes {{x = {nested}}} {{}}").code == "SDY-P007"
    regions = '"stablehlo.case"(%i) ({\n' * 2000
    assert mistake(f"func.func @f(%i: tensor<i32>) {{\n{regions}").code == "SDY-P007"


def test_an_error_shows_its_line_and_a_caret() -> None:
    assert render(mistake(func("%0 = stablehlo.tranpose %a : tensor<4xf32>"))).splitlines() == [
        "file.mlir:2:8: error: unknown op stablehlo.tranpose [SDY-P002]",
        "    %0 = stablehlo.tranpose %a : tensor<4xf32>",
        "         ^^^^^^^^^^^^^^^^^^",
        "  hint: did you mean stablehlo.transpose?",
    ]


@pytest.mark.parametrize(
    ("op", "hint"),
    [
        ("arith.addf", "the ops of arith: constant"),
        ("func.foo", "the ops of func: call, func, return"),
        ("stablehlo.qqq", None),
    ],
)
def test_the_ops_of_a_small_dialect_are_listed(op: str, hint: str | None) -> None:
    assert mistake(func(f"%0 = {op} %a : tensor<4xf32>")).hint == hint


def test_lines_count_from_the_first_line_of_the_chunk() -> None:
    diagnostic = mistake("\nmodule }", first_line=10)
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column, diagnostic.span.text) == (11, 8, "module }")


def test_op_locations_are_those_of_op_names() -> None:
    text = func(
        "%0 = stablehlo.abs %a : tensor<4xf32>",
        "  %1 =",
        "    stablehlo.abs %a : tensor<4xf32>",
        "%2 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0] : "
        "(tensor<4xf32>, tensor<f32>) -> tensor<f32>",
        "%c = stablehlo.constant dense<0.0> : tensor<f32>",
    )
    module = parse_module(text, "file.mlir")
    assert isinstance(module, ModuleOp)
    places = {op.name: span for op in module.walk() if (span := span_of(op)) is not None}
    assert (places["stablehlo.reduce"].line, places["stablehlo.reduce"].column) == (5, 8)
    assert (places["func.return"].line, places["func.return"].column) == (7, 3)
    columns = [(span.line, span.column) for op in module.walk() if op.name == "stablehlo.abs" and (span := span_of(op))]
    assert columns == [(2, 8), (4, 7)]


def test_locations_in_the_text_are_parsed_and_dropped() -> None:
    text = func(
        '%0 = stablehlo.abs %a : tensor<4xf32> loc("x.py":3:4)', "%1 = stablehlo.abs %a : tensor<4xf32> loc(unknown)"
    )
    module = parse_module(text, "file.mlir")
    for op in module.walk():
        if op.name == "stablehlo.abs":
            assert isinstance(op.location, FileLineColLoc)
            assert op.location.filename.data == "file.mlir"


def test_an_empty_text_is_an_empty_module() -> None:
    assert print_module(parse_module("")) == "module {\n}\n"
    assert print_module(parse_module("// nothing\n")) == "module {\n}\n"


def test_ops_at_top_level_are_wrapped_and_a_module_is_not() -> None:
    assert print_module(parse_module("module @m {}")) == "module @m {\n}\n"
    assert print_module(parse_module("module {}\nmodule {}")).count("module") == 3


def test_aliases_of_attributes_and_types_are_resolved() -> None:
    text = "#map = [1, 2]\n!t = tensor<2xf32>\nfunc.func private @f(!t) attributes {x = #map}"
    assert "@f(tensor<2xf32>) attributes {x = [1, 2]}" in print_module(parse_module(text))


def test_unregistered_ops_are_parsed_only_in_generic_form() -> None:
    context = make_context(allow_unregistered=True)
    module = parse_module('%0 = "some.op"() {x = #foo.bar<1, [2]>} : () -> !foo.type', context=context)
    assert '%0 = "some.op"() {x = #foo.bar<1, [2]>} : () -> !foo.type' in print_module(module)
    with pytest.raises(SdyError, match=r"unknown op some\.op"):
        parse_module("some.op", context=context)
