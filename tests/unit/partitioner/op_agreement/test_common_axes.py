"""Axes that an op runs on if its tensors disagree."""

from __future__ import annotations

from math import prod

import pytest

from sdy.grammar.parse import parse_mesh, parse_rule, parse_sharding
from sdy.grammar.write import write_axis_list
from sdy.model.rule import FactorIndex, OpShardingRule
from sdy.partitioner.op_agreement.common_axes import common_axes
from sdy.partitioner.op_agreement.conflicts import cheaper_result_axes
from sdy.partitioner.op_agreement.reshape_axes import has_overflow, reshape_axes
from sdy.propagation.projection import Projection, project

G = '<["p"=2, "q"=4, "r"=2]>'
DOT = "([i, k], [k, j])->([i, j]) {{i={0}, j={1}, k={2}}} reduction={{k}}"

# mesh, rule, dims of each tensor, axes of each factor
CASES = [
    (G, DOT.format(64, 32, 16), ['{"q"} {"p"}', '{"p"} {"q"}', '{"q"} {}'], 'i={"q"} k={"p"}'),
    (G, DOT.format(16, 16, 16), ['{"q"} {}', '{"q"} {}', "{} {}"], 'i={"q"}'),
    (G, "([i], [i])->([i]) {i=64}", ['{"p","q"}', '{"p"}', '{"r"}'], 'i={"p", "q"}'),
    (G, "([i, j])->([j, i]) {i=8, j=32}", ['{"p"} {}', '{"q"} {}'], 'j={"q"}'),
    (G, "([i, j], [])->([i]) {i=8, j=32} reduction={j}", ['{"p"} {"q"}', "", '{"q"}'], 'i={"p"} j={"q"}'),
    (G, "([i])->([i, j]) {i=8, j=32}", ['{"q"}', '{"p"} {"q"}'], 'i={"p"} j={"q"}'),
    (
        G,
        "([i, j])->([i, j]) {i=8, j=32} need_replication={j}",
        ['{"p"} {"q","r"}', '{"p"} {"q","r"}'],
        'i={"p", "q"}',
    ),
    (G, "([i, j])->([i, j]) {i=8, j=32} permutation={j}", ['{"p"} {}', '{} {"q"}'], 'i={"p"}'),
    (
        G,
        DOT.format(16, 32, 64),
        ['{} {"r","q"}', '{} {"q":(2)2}', '{} {"q":(2)2}'],
        'j={"q":(2)2} k={"r", "q":(1)2}',
    ),
    (
        G,
        "([i, j], [i, j])->([i, j]) {i=8, j=8} need_replication={i}",
        ['{} {"p"}', '{} {"r"}', '{"q"} {}'],
        'j={"r", "q"}',
    ),
    (
        '<["v"=2, "x"=4, "y"=2, "z"=2]>',
        "([i], [i, l], [k], [j, m])->([l]) {i=64, j=64, k=64, l=4, m=2}",
        ['{"x","y"}', '{"x"} {}', '{"y","v"}', '{"z"} {}', "{}"],
        'i={"x", "y"} j={"z"}',
    ),
    (
        '<["v"=2, "x"=4, "y"=2, "z"=2]>',
        "([i], [i, l], [k], [j, m])->([l]) {i=64, j=64, k=64, l=4, m=2}",
        ['{"x","y"}', '{"x"} {}', '{"y","v"}', "{} {}", "{}"],
        'i={"x"} k={"y", "v"}',
    ),
]


@pytest.mark.parametrize(("mesh", "rule_text", "dims", "expected"), CASES)
def test_common_axes(mesh: str, rule_text: str, dims: list[str], expected: str) -> None:
    rule = parse_rule(f"<{rule_text}>")
    axes = common_axes(rule, _project(rule, dims, mesh), _elements(rule), parse_mesh(mesh))
    named = [f"{chr(ord('i') + factor)}={write_axis_list(own)}" for factor, own in enumerate(axes) if own]
    assert " ".join(named) == expected


def test_reshape_with_overflow_redistributes_the_axes() -> None:
    rule = parse_rule("<([ij])->([i, j]) {i=6, j=8}>")
    projection = _project(rule, ['{"q"}', '{"p"} {"r"}'], G)
    assert has_overflow(projection)
    assert [write_axis_list(axes) for axes in reshape_axes(rule, projection, parse_mesh(G))] == ['{"q":(1)2}', "{}"]


def test_dot_with_contracting_axes_on_the_result_reshards_the_result() -> None:
    rule = parse_rule(f"<{DOT.format(32, 32, 64)}>")
    projection = _project(rule, ['{"q"} {"p","r"}', '{"p","r"} {}', '{"p","r"} {}'], G)
    found = cheaper_result_axes(rule, projection, (32 * 64, 64 * 32, 32 * 32))
    assert found is not None
    assert (found[0], write_axis_list(found[1])) == (FactorIndex(0), '{"q"}')
    assert cheaper_result_axes(rule, projection, (64 * 16, 16 * 32, 64 * 32)) is None


def _project(rule: OpShardingRule, dims: list[str], mesh: str) -> Projection:
    shardings = tuple(parse_sharding(f"<@m, [{', '.join(text.split())}]>") for text in dims)
    return project(rule, shardings, parse_mesh(mesh), missing_is_closed=True)


def _elements(rule: OpShardingRule) -> tuple[int, ...]:
    return tuple(prod(rule.factor_sizes[factor] for dim in mapping for factor in dim) for mapping in rule.tensors)
