"""A text that changes has the errors that a check of the whole text finds, whatever was checked before."""

from __future__ import annotations

import random

import pytest
from support.examples import EXAMPLES

from sdy.compile.source_text import read_module
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.language_server.checked_text import CheckedText

FILE = "program.mlir"
LOOP = """#map = #sdy.sharding<@mesh, [{"x"}, {}]>
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func private @helper(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #map},
    %b: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
  // The loop adds %b.
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %0:2 = stablehlo.while(%i = %zero, %s = %a) : tensor<i32>, tensor<8x8xf32>
    cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %t = stablehlo.add %s, %b : tensor<8x8xf32>
      stablehlo.return %j, %t : tensor<i32>, tensor<8x8xf32>
    }
  %1 = sdy.sharding_constraint %0#1 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
  %2 = call @helper(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>

  %3 = stablehlo.reduce(%2 init: %init) across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    reducer(%p: tensor<f32>, %q: tensor<f32>) {
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }
  %4 = "stablehlo.all_reduce"(%2) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %4, %3 : tensor<8x8xf32>, tensor<8xf32>
}
"""
TEXTS = [LOOP, *(path.read_text() for path in EXAMPLES[:3])]
SNIPPETS = [
    "%0", "%1", "%a", "%zero", "tensor<8x8xf32>", "tensor<4xf32>", "i32", '{"x"}', '{"z"}', "{", "}", "(", ")", '"',
    " ", "\n", "// ", "stablehlo.add", "stablehlo.return", "return", " = ", ",", "#map", "#other", "@mesh", "@none",
    ":", "#1", "  %9 = stablehlo.tanh %a : tensor<8x8xf32>\n", "  %2 = stablehlo.tanh %a : tensor<8x8xf32>\n", "\n\n",
    '  %7 = sdy.sharding_constraint %a <@mesh, [{"x", "y"}, {}]> : tensor<8x8xf32>\n', "^bb0:", 'loc("a.py":1:2)',
]  # fmt: skip


def full_check(text: str) -> list[Diagnostic]:
    """Return the errors that a check of the whole text finds."""
    try:
        read_module(text, FILE)
    except SdyError as error:
        return list(error.diagnostics)
    return []


def edited(text: str, chance: random.Random) -> str:
    """Return the text after an edit such as people make."""
    lines = text.split("\n")
    line = chance.randrange(len(lines))
    start = chance.randint(0, len(lines[line]))
    end = min(len(lines[line]), start + chance.choice((0, 0, 1, 2, 6)))
    match chance.randrange(6):
        case 0:
            lines.pop(line)
        case 1:
            lines.insert(line, lines[chance.randrange(len(lines))])
        case 2:
            other = chance.randrange(len(lines))
            lines[line], lines[other] = lines[other], lines[line]
        case 3:
            lines[line] = lines[line][:start] + lines[line][end:]
        case _:
            lines[line] = lines[line][:start] + chance.choice(SNIPPETS) + lines[line][end:]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(30))
def test_random_edits_have_the_errors_of_a_full_check(seed: int) -> None:
    chance = random.Random(seed)
    valid = text = chance.choice(TEXTS)
    checked = CheckedText(FILE)
    assert checked.check(text) == ()
    for _ in range(30):
        text = edited(valid if chance.random() < 0.4 else text, chance)
        errors = full_check(text)
        assert list(checked.check(text)) == errors, text
        if not errors:
            valid = text


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("stablehlo.tanh %arg0", "stablehlo.sine %arg0", None),
        ("stablehlo.tanh %arg0", "stablehlo.sin", "SDY-P002"),
        ('[{"y"}, {}]> : tensor', '[{"y"}, {"y"}]> : tensor', "SDY-S202"),
        ("dense<3>", "dense<4>", None),
        ("  // The loop adds %b.\n", "\n  // The loop\n  // adds %b.\n", None),
        ("  %2 = call", "  %5 = stablehlo.tanh %1 : tensor<8x8xf32>\n  %2 = call", None),
    ],
)
def test_a_change_of_an_op_needs_no_full_check(old: str, new: str, code: str | None) -> None:
    checked = CheckedText(FILE)
    assert checked.check(LOOP) == ()
    errors = checked.check(LOOP.replace(old, new, 1))
    assert [error.code for error in errors] == ([] if code is None else [code])
    assert checked.check(LOOP) == ()
    assert checked.full_checks == 1
