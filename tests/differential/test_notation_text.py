"""Compare parsing and printing of attributes and ops with MLIR."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given, settings
from support.model.strategies import (
    all_to_all_params,
    axis_lists,
    meshes,
    propagation_edges,
    rules,
    tensor_shardings,
)
from support.oracle.jaxlib_mlir import ir, jax_mlir

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.grammar import write
from sdy.model.axis import AxisList
from sdy.model.collective import AllToAllParam
from sdy.model.mesh import Mesh
from sdy.model.propagation_edges import PropagationEdges
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import ReductionKind, TensorSharding

CONTEXT = jax_mlir.make_ir_context()


def mlir_attribute(text: str) -> str | None:
    """Return the attribute as MLIR prints it, or None if MLIR does not parse it."""
    with CONTEXT:
        try:
            return str(ir.Attribute.parse(text))
        except ir.MLIRError:
            return None


def our_attribute(text: str) -> str | None:
    try:
        module = parse_module(f"module attributes {{a = {text}}} {{}}")
    except SdyError:
        return None
    return str(module.attributes["a"])


@settings(max_examples=200)
@given(tensor_shardings())
def test_shardings_match_mlir(sharding: TensorSharding) -> None:
    plain = replace(sharding, unreduced_kind=ReductionKind.SUM)  # jaxlib knows no other kind
    text = f"#sdy.sharding{write.write_sharding(plain)}"
    assert mlir_attribute(text) == text


@given(meshes())
def test_meshes_match_mlir(mesh: Mesh) -> None:
    text = f"#sdy.mesh{mesh}"
    assert mlir_attribute(text) == text


@given(rules)
def test_rules_match_mlir(rule: OpShardingRule) -> None:
    sizes = tuple(size % 2**31 for size in rule.factor_sizes)  # jaxlib reads 32 bits
    text = f"#sdy.op_sharding_rule{write.write_rule(replace(rule, factor_sizes=sizes))}"
    assert mlir_attribute(text) == text


@given(propagation_edges)
def test_propagation_edges_match_mlir(edges: PropagationEdges) -> None:
    text = f"#sdy.propagation_edges{write.write_propagation_edges(edges)}"
    assert mlir_attribute(text) == text


@given(axis_lists)
def test_axis_lists_match_mlir(axes: AxisList) -> None:
    text = f"#sdy<axis_ref_list{write.write_axis_list(axes)}>"
    assert mlir_attribute(text) == text


@given(all_to_all_params)
def test_all_to_all_parameters_match_mlir(param: AllToAllParam) -> None:
    text = f"#sdy<all_to_all_param_list{write.write_all_to_all_params([param])}>"
    assert mlir_attribute(text) == text


SEEDS = [
    '#sdy.sharding<@m, [{"x", ?}p1, {"y":(1)2}, {}], replicated={"z"}, unreduced={"w"}>',
    '#sdy.sharding<mesh<["x"=2], device_ids=[1, 0]>, [{"x"}, {?}]>',
    "#sdy.op_sharding_rule<([i, jk], [])->([i, z_1]) {i=2, j=3, k=4} reduction={k} blocked_propagation={i}, custom>",
    '#sdy.propagation_edges<[{step-0 = [{"u" = result-0 -> [operand-0, operand-1]}]}]>',
    '#sdy.mesh<["a"=2, "b"=3], device_ids=[5, 4, 3, 2, 1, 0]>',
    '#sdy<manual_axes{"x", "y"}>',
    '#sdy<list_of_axis_ref_lists[{"x"}, {}]>',
    '#sdy<all_to_all_param_list[{"x"}: 0->1]>',
]
TOKEN = re.compile(r'"[^"]*"|->|[A-Za-z_0-9#.@]+|.')


def mutations() -> list[str]:
    """Return each seed with one token removed, duplicated, or swapped with the next."""
    texts: list[str] = []
    for seed in SEEDS:
        head = re.match(r"#sdy(?:\.[a-z_]+|<[a-z_]+)", seed)
        assert head is not None
        tokens = TOKEN.findall(seed[head.end() :])
        for index in range(len(tokens)):
            before, token, after = tokens[:index], tokens[index], tokens[index + 1 :]
            texts.append(head[0] + "".join([*before, *after]))
            texts.append(head[0] + "".join([*before, token, token, *after]))
            if after:
                texts.append(head[0] + "".join([*before, after[0], token, *after[1:]]))
    return sorted(set(texts))


def test_mutated_texts_match_mlir() -> None:
    texts = [text for text in mutations() if "unreduced{" not in text]  # jaxlib does not allow to leave `=` out
    differing = [
        (text, theirs, ours) for text in texts if (theirs := mlir_attribute(text)) != (ours := our_attribute(text))
    ]
    assert differing == []
