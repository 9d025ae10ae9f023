"""Compares lines parsed by templates with the same lines parsed token by token, and fast ops with xDSL's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, TensorType, UnknownLoc, f32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.ir.fast_ops import append_new_op, append_op, make_location, make_op
from sdy.dialects.module_text import make_context, parse_module, print_module
from sdy.dialects.stablehlo.elementwise import AddOp
from sdy.dialects.text import scoped_parser
from sdy.dialects.text.printer import MlirPrinter
from sdy.dialects.text.scoped_parser import MAX_LINE_LENGTH

FILE_TESTS = sorted((Path(__file__).parents[3] / "filecheck" / "dialects").glob("stablehlo_*.mlir"))


def structure(module: Operation) -> list[tuple[str, str, list[str]]]:
    """Return the name, location and result types of each op."""
    return [(op.name, str(op.location), [str(value_type) for value_type in op.result_types]) for op in module.walk()]


def no_template(*_: object) -> None:
    """Return nothing, in place of a function that makes a template."""


@pytest.mark.parametrize("path", FILE_TESTS, ids=lambda path: path.stem)
def test_templates_do_not_change_the_result(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The text is repeated, so that each line of the second copy has a template.
    text = path.read_text() + path.read_text().replace("func.func @", "func.func @again_").replace(
        "func.func private @", "func.func private @again_"
    )
    by_templates = parse_module(text)
    monkeypatch.setattr(scoped_parser, "make_template", no_template)
    token_by_token = parse_module(text)
    assert print_module(by_templates, generic=True) == print_module(token_by_token, generic=True)
    assert structure(by_templates) == structure(token_by_token)
    assert [list(map(len, map(list, (op.operands, op.results)))) for op in by_templates.walk()] == [
        list(map(len, map(list, (op.operands, op.results)))) for op in token_by_token.walk()
    ]


@pytest.mark.parametrize("path", FILE_TESTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("generic", [False, True])
def test_texts_of_similar_ops_do_not_change_what_is_printed(
    path: Path, generic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = parse_module(path.read_text())
    by_texts = print_module(module, generic)
    monkeypatch.setattr(MlirPrinter, "_text_with_names", no_template)
    assert by_texts == print_module(module, generic)


def test_a_null_character_in_the_name_of_an_op_is_printed() -> None:
    line = '"x.\0y"(%arg0) : (f32) -> f32'
    text = f"func.func @f(%arg0: f32) {{\n  %0 = {line}\n  %1 = {line}\n  return\n}}\n"
    module = parse_module(text, context=make_context(allow_unregistered=True))
    assert print_module(module).count(line) == 2


def outcome(text: str) -> tuple[object, ...]:
    """Return what is known of a text after parsing: the module and the location of each op, or the error."""
    try:
        module = parse_module(text)
    except SdyError as error:
        return (str(error),)
    return print_module(module), print_module(module, generic=True), structure(module)


def test_templates_do_not_change_the_result_of_any_text(monkeypatch: pytest.MonkeyPatch) -> None:
    files = Path(__file__).parents[3].rglob("*.mlir")
    texts = [text for file in sorted(files) for text in file.read_text(errors="replace").split("// -----")]
    assert len(texts) > 200
    by_templates = list(map(outcome, texts))
    monkeypatch.setattr(scoped_parser, "make_template", no_template)
    monkeypatch.setattr(MlirPrinter, "_text_with_names", no_template)
    for text, expected in zip(texts, by_templates, strict=True):
        assert outcome(text) == expected, text


def error(*lines: str) -> tuple[str, int, int]:
    body = "".join(f"  {line}\n" for line in lines)
    with pytest.raises(SdyError) as caught:
        parse_module(f"func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>) {{\n{body}  return\n}}\n")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span is not None
    return diagnostic.code, diagnostic.span.line, diagnostic.span.column


FIRST = "%0 = stablehlo.add %a, %a : tensor<4xf32>"


def test_a_line_with_a_template_may_be_invalid() -> None:
    assert error(FIRST, "%1 = stablehlo.add %a, %b : tensor<4xf32>") == ("SDY-P005", 3, 26)
    assert error(FIRST, "%1 = stablehlo.add %a, %nowhere : tensor<4xf32>") == ("SDY-P003", 3, 26)
    assert error(FIRST, "%1 = stablehlo.add %a, %0#1 : tensor<4xf32>") == ("SDY-P003", 3, 26)
    assert error(FIRST, "%0 = stablehlo.add %a, %0 : tensor<4xf32>") == ("SDY-P004", 3, 3)
    assert error(FIRST, "%1:2 = stablehlo.add %a, %0 : tensor<4xf32>") == ("SDY-P009", 3, 3)
    assert error(FIRST, "%1 = stablehlo.add %a, % : tensor<4xf32>") == ("SDY-P001", 3, 26)


def test_long_lines_have_no_templates() -> None:
    size = MAX_LINE_LENGTH // 3
    lines = [f"  %{row} = stablehlo.constant dense<{[row] * size}> : tensor<{size}xi32>" for row in range(3)]
    lines.append(f"  %3 = stablehlo.add %0, %1 {{x = {[0] * size}}} : tensor<{size}xi32>")
    lines.append(f"  %4 = stablehlo.subtract %2, %1 {{x = {[0] * size}}} : tensor<{size}xi32>")
    assert all(len(line) > MAX_LINE_LENGTH for line in lines)
    module = parse_module("func.func @f() {\n" + "\n\n".join(lines) + "\n  return\n}\n")
    assert [op.name.partition(".")[2] for op in module.walk()][2:] == ["constant"] * 3 + ["add", "subtract", "return"]


def test_a_line_with_a_template_may_use_a_later_value() -> None:
    text = f"""func.func @f(%a: tensor<4xf32>) {{
  {FIRST}
  %1 = stablehlo.add %2, %0 : tensor<4xf32>
  %2 = stablehlo.add %0, %a : tensor<4xf32>
  return
}}"""
    ops = [op for op in parse_module(text).walk() if isinstance(op, AddOp)]
    assert ops[1].lhs is ops[2].result
    assert [use.operation for use in ops[2].result.uses] == [ops[1]]


PERCENT_SIGNS = (
    'stablehlo.add %a, %a {x = "%a", y = "0%"} : tensor<4xf32>',
    'stablehlo.add %a, %a {x = "%a0", y = "0%1"} : tensor<4xf32>',
    'stablehlo.custom_call @g(%a) {backend_config = "100%"} : (tensor<4xf32>) -> tensor<4xf32>',
    'stablehlo.custom_call @g(%a) {backend_config = "100%foo"} : (tensor<4xf32>) -> tensor<4xf32>',
    'stablehlo.custom_call @g(%a) {backend_config = "\\"%", x = "%"} : (tensor<4xf32>) -> tensor<4xf32>',
    'stablehlo.custom_call @g(%a) {backend_config = "\\"%b", x = "%b"} : (tensor<4xf32>) -> tensor<4xf32>',
    'func.call @"h%"(%a) : (tensor<4xf32>) -> tensor<4xf32>',
    'func.call @"h%a"(%a) : (tensor<4xf32>) -> tensor<4xf32>',
    'sdy.sharding_constraint %a <@"m%", [{"x%"}]> : tensor<4xf32>',
    'sdy.sharding_constraint %a <@"m%0", [{"x%y"}]> : tensor<4xf32>',
    "stablehlo.abs %a : tensor<4xf32> // 50%",
    "stablehlo.abs %a : tensor<4xf32> // 50%a",
)


@pytest.mark.parametrize("order", [1, -1])
def test_percent_signs_in_strings_and_comments_are_not_values(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"  %{index} = {line}\n" for index, line in enumerate(PERCENT_SIGNS[::order]))
    text = f"func.func @f(%a: tensor<4xf32>) {{\n{lines}  return\n}}"
    by_templates = print_module(parse_module(text))
    monkeypatch.setattr(scoped_parser, "make_template", no_template)
    assert by_templates == print_module(parse_module(text))


def test_location_on_the_line_after_a_line_with_a_template() -> None:
    text = f"""func.func @f(%a: tensor<4xf32>) {{
  {FIRST}
  %1 = stablehlo.add %0, %0 : tensor<4xf32>
    loc("x")
  %2 = stablehlo.add %1, %1 : tensor<4xf32> // a comment
    // another comment
    loc("model.py":1:2)
  return
}}"""
    assert [op.name for op in parse_module(text).walk()].count("stablehlo.add") == 3


@pytest.mark.parametrize("make", [make_op, partial(append_new_op, Block())], ids=["make", "append"])
def test_fast_ops_match_the_constructor(make: Callable[..., AddOp]) -> None:
    value_type = TensorType(f32, [4])
    block = Block(arg_types=[value_type, value_type])
    location = FileLineColLoc(StringAttr("f"), IntAttr(3), IntAttr(5))
    attributes = {"x": StringAttr("y")}
    made = make(AddOp, block.args, [value_type], {}, attributes, location)
    created = AddOp.create(operands=block.args, result_types=[value_type], attributes=attributes, location=location)
    made.verify()
    assert set(made.__dict__) - {"parent"} <= set(created.__dict__)
    assert str(made) == str(created)
    assert made.is_structurally_equivalent(created)
    assert [use.index for use in block.args[0].uses] == [0, 0]
    made.drop_all_references()
    assert [use.operation for use in block.args[1].uses] == [created]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_fast_ops_have_all_results(count: int) -> None:
    block = Block()
    types = [TensorType(f32, [size]) for size in range(count)]
    made = append_new_op(block, AddOp, (), types, {}, {}, UnknownLoc())
    assert block.last_op is made
    assert [(result.type, result.index, result.op) for result in made.results] == [
        (value_type, index, made) for index, value_type in enumerate(types)
    ]


def test_append_op_matches_add_op() -> None:
    block, other = Block(), Block()
    for add in (partial(append_op, block), other.add_op):
        for _ in range(3):
            add(ReturnOp())
    for target in (block, other):
        ops = list(target.ops)
        assert len(ops) == 3
        assert (target.first_op, target.last_op) == (ops[0], ops[-1])
        assert [op.prev_op for op in ops] == [None, *ops[:-1]]
        assert {op.parent for op in ops} == {target}


def test_make_location_matches_the_constructor() -> None:
    ours = make_location(StringAttr("f"), 3, IntAttr(5))
    theirs = FileLineColLoc(StringAttr("f"), IntAttr(3), IntAttr(5))
    assert ours == theirs
    assert hash(ours) == hash(theirs)
