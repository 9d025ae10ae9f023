"""Definitions and uses found by brackets are those that the parser finds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.examples import EXAMPLES
from xdsl.ir import AttributeInvT, Operation, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.utils.lexer import Span

from sdy.dialects.module_text import make_context
from sdy.dialects.text.locating_parser import LocatingParser
from sdy.dialects.text.scoped_parser import Template
from sdy.language_server.text.navigation import Scopes

NESTED = """func.func private @f(%a: tensor<8xf32>, %0: tensor<f32>) -> tensor<f32> attributes {x = {}} {
  // A comment defines no name: not %b, and not the one in "%b".
  %b = stablehlo.reduce(%a init: %0) across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a_0: tensor<f32>, %b_0: tensor<f32>) {
    %c = stablehlo.add %a_0, %b_0 : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }
  %c = "stablehlo.tanh"(%b) {note = "%b"} : (tensor<f32>) -> tensor<f32>
  return %c : tensor<f32>
}
func.func @main(
  %a: tensor<8xf32>,
  %n: tensor<i32>) -> tensor<8xf32> {
  %0:2 = stablehlo.while(%i = %a, %j = %n) : tensor<8xf32>, tensor<i32> attributes {x = 1 : i32} cond {
    %c = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %b = stablehlo.tanh %i : tensor<8xf32>
    stablehlo.return %b, %j : tensor<8xf32>, tensor<i32>
  }
  %b, %c = "stablehlo.optimization_barrier"(%0#0, %0#1) : (tensor<8xf32>, tensor<i32>) -> (tensor<8xf32>, tensor<i32>)
  %1 = "stablehlo.case"(%c) ({
    %x = stablehlo.tanh %b : tensor<8xf32>
    stablehlo.return %x : tensor<8xf32>
  }, {
    %x = stablehlo.abs %b : tensor<8xf32>
    stablehlo.return %x : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  %x = "stablehlo.all_reduce"(%1) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<8xf32>) -> tensor<8xf32>
  return %x : tensor<8xf32>
}
"""
MANUAL = """sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x"}
      (%a: tensor<4xf32>) {
    %0 = stablehlo.tanh %a : tensor<4xf32>
    sdy.return %0 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
TEXTS = [NESTED, MANUAL, *(path.read_text() for path in EXAMPLES)]


class RecordingParser(LocatingParser):
    """A parser that records where each used value is defined, by the offsets of the names."""

    def __init__(self, text: str) -> None:
        self.defined: dict[int, int] = {}  # from the id of a value, which stays alive
        self.used: list[tuple[int, SSAValue]] = []
        self.bindings: list[tuple[int, str, Sequence[SSAValue]]] = []
        super().__init__(make_context(), text, "program.mlir")

    def _remember_line(self, line: int, op: Operation, templates: dict[str, Template]) -> None:
        """Make no template, so that each name is resolved."""

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        self.bindings.append((span.start, f"%{name}", values))
        self.defined.update((id(value), span.start) for value in values)

    def resolve_operand(
        self,
        operand: UnresolvedOperand,
        type: AttributeInvT,  # noqa: A002 -- xDSL's name
    ) -> SSAValue[AttributeInvT]:
        value = super().resolve_operand(operand, type)
        self.used.append((operand.span.start, value))
        return value


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_each_use_has_the_definition_that_the_parser_finds(text: str) -> None:
    parser = RecordingParser(text)
    module = parser.parse_module()
    scopes = Scopes(text)
    assert parser.used
    found: dict[int, list[int]] = {start: [start] for start, _, _ in parser.bindings}
    for start, value in parser.used:
        name = next(name for definition, name, _ in parser.bindings if definition == parser.defined[id(value)])
        assert scopes.definition(name, start) == parser.defined[id(value)], text[start : start + 40]
        found[parser.defined[id(value)]].append(start)
    for start, name, _ in parser.bindings:
        assert scopes.occurrences(name, start) == sorted(found[start])
    assert module.ops


@pytest.mark.parametrize("line", [each for each in range(24) if each not in (0, 12)])  # the lines with the headers
def test_a_missing_line_loses_only_what_it_defines(line: int) -> None:
    lines = NESTED.split("\n")
    text = "\n".join(lines[:line] + lines[line + 1 :])
    use = text.index("return %x : tensor<8xf32>\n}") + len("return ")
    assert Scopes(text).definition("%x", use) == text.index('%x = "stablehlo.all_reduce"')


def test_names_in_strings_and_comments_are_none() -> None:
    scopes = Scopes(NESTED)
    assert scopes.definition("%nothing", 300) is None
    mentions = scopes.occurrences("%b", NESTED.index("%b = stablehlo.reduce"))
    assert [NESTED[start - 17 : start] for start in mentions[1:]] == ['"stablehlo.tanh"(']
