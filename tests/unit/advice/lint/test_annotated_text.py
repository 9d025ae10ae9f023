"""Annotations are changed in the user's text, whose other characters stay; otherwise the module is printed."""

from __future__ import annotations

import pytest

import sdy
from sdy.advice.edits import Change, Edit, Removal, edited
from sdy.advice.lint.annotated_text import text_with_changes
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import parse_module, print_module
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.grammar.parse import TENSOR_SHARDING
from sdy.model.sharding import TensorSharding

TEXT = """\
sdy.mesh @m = <["x"=4, "y"=2]>  // a comment that stays
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
                %b: tensor<8x8xf32> {jax.name = "b, (c)"}, %c : tensor<8x8xf32>)
    -> tensor<8x8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x8xf32>   // another one
  %sum = stablehlo.add %0, %c {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %sum <@m, [{}, {}]> : tensor<8x8xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
"""
NEW = '<@m, [{}, {"y"}]>'
MODULE = sdy.Program.from_text(TEXT, "p.mlir").module


def sharding() -> TensorSharding:
    return TENSOR_SHARDING.parse(NEW, "a test")


def argument(index: int) -> Edit:
    return Edit(main_function(MODULE).body.block.args[index], sharding())


def op(index: int) -> Edit:
    return Edit(list(main_function(MODULE).body.block.ops)[index].results[0], sharding())


def constraint() -> Removal:
    return Removal(next(op for op in MODULE.walk() if isinstance(op, ShardingConstraintOp)).result)


ANNOTATION = f"sdy.sharding = #sdy.sharding{NEW}"
PER_VALUE = f"#sdy.sharding_per_value<[{NEW}]>"
CASES: dict[str, tuple[list[Change], list[tuple[str, str]]]] = {
    "an annotated argument": ([argument(0)], [('sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>', ANNOTATION)]),
    "an argument with other attributes": ([argument(1)], [("{jax.name", f"{{{ANNOTATION}, jax.name")]),
    "an argument without attributes": (
        [argument(2)],
        [("%c : tensor<8x8xf32>)", f"%c : tensor<8x8xf32> {{{ANNOTATION}}})")],
    ),
    "a result without parentheses": (
        [Edit(0, sharding())],
        [("-> tensor<8x8xf32> {", f"-> (tensor<8x8xf32> {{{ANNOTATION}}}) {{")],
    ),
    "an annotated op": ([op(1)], [('#sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>', PER_VALUE)]),
    "a constraint": ([op(2)], [("%sum <@m, [{}, {}]>", f"%sum {NEW}")]),
    "a value without an annotation": (
        [op(0)],
        [
            ("another one\n", f"another one\n  %sharded_0 = sdy.sharding_constraint %0 {NEW} : tensor<8x8xf32>\n"),
            ("add %0, %c", "add %sharded_0, %c"),
            ("multiply %0", "multiply %sharded_0"),
        ],
    ),
    "an argument that keeps its annotation": (
        [Edit(main_function(MODULE).body.block.args[0], sharding(), keeps_annotation=True)],
        [
            ("> {\n  %0", f"> {{\n  %a_sharded = sdy.sharding_constraint %a {NEW} : tensor<8x8xf32>\n  %0"),
            ("add %a,", "add %a_sharded,"),
        ],
    ),
    "a removed constraint": (
        [constraint()],
        [("  %1 = sdy.sharding_constraint %sum <@m, [{}, {}]> : tensor<8x8xf32>\n", ""), ("%0, %1", "%0, %sum")],
    ),
    "several changes": (
        [argument(2), argument(0)],
        [
            ('sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>', ANNOTATION),
            ("%c : tensor<8x8xf32>)", f"%c : tensor<8x8xf32> {{{ANNOTATION}}})"),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_rest_of_the_text_stays(name: str) -> None:
    changes, replacements = CASES[name]
    expected = TEXT
    for old, new in replacements:
        assert expected.count(old) == 1
        expected = expected.replace(old, new)
    assert text_with_changes(TEXT, MODULE, changes) == expected


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("tensor<8x8xf32>\n  return", "tensor<8x8xf32> return").replace("\n  %2", " %2"),
        TEXT.replace("%1 = sdy.sharding_constraint", "%1 =\n    sdy.sharding_constraint"),
    ],
)
def test_a_text_that_cannot_be_edited_is_printed_anew(text: str) -> None:
    module = parse_module(text)
    target = next(op for op in module.walk() if isinstance(op, ShardingConstraintOp)).result
    changes = [Removal(target)]
    assert text_with_changes(text, module, changes) == print_module(edited(module, changes)[0])


def test_an_alias_is_replaced_by_the_sharding() -> None:
    text = '#s = #sdy.sharding<@m, [{"x"}, {}]>\n' + TEXT.replace('#sdy.sharding<@m, [{"x"}, {}]>', "#s", 1)
    module = parse_module(text)
    changes = [Edit(main_function(module).body.block.args[0], sharding())]
    assert f"%a: tensor<8x8xf32> {{{ANNOTATION}}}" in text_with_changes(text, module, changes)
