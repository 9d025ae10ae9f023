"""The rule of every op, as `rules.mlir` lists them: `// op => rule` in comments, `none` for no rule."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.dialects.module_text import make_context, parse_module
from sdy.grammar.write import write_rule
from sdy.passes.propagation.populate_rules import PopulateOpShardingRulesPass
from sdy.rules.all import sharding_rule

CHUNKS = Path(__file__).with_name("rules.mlir").read_text().split("// -----\n")
EXPECTATION = re.compile(r"^// (conservative )?(\S+) => (.*)$", re.MULTILINE)


@pytest.mark.parametrize("chunk", CHUNKS, ids=range(len(CHUNKS)))
def test_rules_are_as_listed(chunk: str) -> None:
    expected = Counter((op, rule) for mode, op, rule in EXPECTATION.findall(chunk) if not mode)
    listed = {op for op, _ in expected}
    assert _rules(chunk, listed, conservative=False) == expected


@pytest.mark.parametrize("chunk", [chunk for chunk in CHUNKS if "// conservative" in chunk])
def test_conservative_rules_are_as_listed(chunk: str) -> None:
    expected = [(op, rule) for mode, op, rule in EXPECTATION.findall(chunk) if mode]
    found = _rules(chunk, {op for op, _ in expected}, conservative=True)
    assert all(entry in found for entry in expected)


def _rules(chunk: str, listed: set[str], *, conservative: bool) -> Counter[tuple[str, str]]:
    ops = [op for op in parse_module(chunk).walk() if op.name in listed]
    rules = ((op.name, sharding_rule(op, conservative=conservative)) for op in ops)
    return Counter((name, "none" if rule is None else write_rule(rule)) for name, rule in rules)


def test_only_the_first_unknown_op_of_each_kind_is_warned_about() -> None:
    module = parse_module(
        """
        func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
          %0 = stablehlo.custom_call @mine(%a) : (tensor<8xf32>) -> tensor<8xf32>
          %1 = stablehlo.custom_call @yours(%0) : (tensor<8xf32>) -> tensor<8xf32>
          %2 = stablehlo.custom_call @tpu_custom_call(%1) : (tensor<8xf32>) -> tensor<8xf32>
          %3 = stablehlo.replica_id : tensor<ui32>
          return %2 : tensor<8xf32>
        }
        """,
        "rules.mlir",
    )
    context = make_context()
    PopulateOpShardingRulesPass().apply(context, module)
    warned = [(each.code, each.span.line if each.span else 0) for each in context.diagnostics]
    assert warned == [("SDY-R101", 3), ("SDY-R101", 6)]
    assert "@mine" in context.diagnostics[0].message
    assert "stablehlo.replica_id" in context.diagnostics[1].message


def test_the_warning_names_an_unregistered_op() -> None:
    text = 'func.func @main(%a: tensor<8xf32>) {\n  %0 = "foo.bar"(%a) : (tensor<8xf32>) -> tensor<8xf32>\n  return\n}'
    context = make_context(allow_unregistered=True)
    PopulateOpShardingRulesPass().apply(context, parse_module(text, context=context))
    assert "no sharding rule is known for foo.bar" in context.diagnostics[0].message


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (
            "(%a, %a) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>",
            "<([i, j], [i, j])->([i, j]) {i=8, j=4}, custom>",
        ),
        ("(%a) : (tensor<8x4xf32>) -> tensor<8xf32>", "<([i, j])->([k]) {i=8, j=4, k=8}, custom>"),
        ("(%a) : (tensor<8x4xf32>) -> tensor<f32>", "<([i, j])->([]) {i=8, j=4}, custom>"),
    ],
)
def test_the_hint_for_an_unknown_op_can_be_pasted(call: str, rule: str) -> None:
    operands, _, types = call.partition(" : ")
    text = "func.func @main(%a: tensor<8x4xf32>) {{\n  %0 = stablehlo.custom_call @mine{} {} : {}\n  return\n}}"

    def warnings(attributes: str) -> list[Diagnostic]:
        context = make_context()
        module = parse_module(text.format(operands, attributes, types), "rules.mlir")
        PopulateOpShardingRulesPass().apply(context, module)
        return list(context.diagnostics)

    (warning,) = warnings("{}")
    hint = warning.hint or ""
    assert rule in hint
    assert "custom_partitioning" in hint
    assert warnings(hint[hint.index("{sdy.") : hint.index("custom>}") + len("custom>}")]) == []
