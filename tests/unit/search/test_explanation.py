"""Explanations of plans: their prices are the least of all assignments, tried one by one."""

from __future__ import annotations

from itertools import product

import pytest
from support.search_networks import network_of_all_layouts

import sdy
from sdy.cost.machines.table import HARDWARE
from sdy.grammar.partition_spec import read_partition_spec
from sdy.partitioner.network.minimum import minimum
from sdy.report.notation import read_mesh
from sdy.search.explanation import AlternativeSearch, PlanExplanation
from sdy.search.search_request import Goal
from sdy.search.searched_module import prepared_module

MACHINE = HARDWARE["tpu_v5e"]
MESH = read_mesh("x=4")
PROGRAM = """
func.func @main(%x: tensor<4096x1024xf32>, %w: tensor<1024x512xf32>) -> tensor<4096x512xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4096x1024xf32>, tensor<1024x512xf32>) -> tensor<4096x512xf32>
  return %0 : tensor<4096x512xf32>
}
"""
LAYERS = """
func.func @main(%x: tensor<64x4096xf32>, %a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>) -> tensor<64x4096xf32> {
  %0 = call @layer(%x, %a) : (tensor<64x4096xf32>, tensor<4096x4096xf32>) -> tensor<64x4096xf32>
  %1 = call @layer(%0, %b) : (tensor<64x4096xf32>, tensor<4096x4096xf32>) -> tensor<64x4096xf32>
  return %1 : tensor<64x4096xf32>
}
func.func private @layer(%x: tensor<64x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<64x4096xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<64x4096xf32>, tensor<4096x4096xf32>) -> tensor<64x4096xf32>
  return %0 : tensor<64x4096xf32>
}
"""


def alternatives_of(text: str, mesh_text: str) -> AlternativeSearch:
    searched = prepared_module(sdy.Program.from_text(text).module).on(read_mesh(mesh_text))
    network = network_of_all_layouts(searched)
    best = minimum(network.network, 60.0)
    assert best is not None
    return AlternativeSearch(searched, network, network.network, best.labels)


@pytest.mark.parametrize(
    ("argument", "spec", "is_chosen"), [(0, "P('data', None)", True), (0, "P(None, 'data')", False)]
)
def test_no_assignment_without_the_axis_is_cheaper(argument: int, spec: str, is_chosen: bool) -> None:
    alternatives = alternatives_of(PROGRAM, "data=8")
    sharding = read_partition_spec(spec, read_mesh("data=8"))
    (choice,), untried = alternatives.choices({argument: sharding}, ["%x", "%w"], 60.0)
    network, op_layouts = alternatives.costs, alternatives.network.op_layouts
    node = next(number for number, op in enumerate(alternatives.searched.graph.ops) if not getattr(op, "sources", True))

    def has_axis(label: int) -> bool:
        return bool(op_layouts[node][label].layouts[0].dims[choice.dim])

    best = {True: float("inf"), False: float("inf")}
    for labels in product(*(range(len(costs)) for costs in network.costs)):
        has = has_axis(labels[node])
        best[has] = min(best[has], network.cost_of(labels))
    assert choice.extra == pytest.approx(best[False] - best[True])
    assert choice.extra is not None
    assert (choice.extra > 0) == is_chosen
    assert untried == 0


def test_equal_arguments_of_layers_are_one_choice() -> None:
    alternatives = alternatives_of(LAYERS, "model=8")
    sharding = read_partition_spec("P(None, 'model')", read_mesh("model=8"))
    choices, _ = alternatives.choices({1: sharding, 2: sharding}, ["x", "a", "b"], 60.0)
    assert [each.names for each in choices] == [("a", "b")]
    explanation = PlanExplanation(Goal.TIME, MESH, 1.0, choices)
    assert "a, b" in explanation.report()
    assert explanation.to_json()["untried"] == 0


def test_choices_without_time_are_counted() -> None:
    alternatives = alternatives_of(PROGRAM, "data=8")
    sharding = read_partition_spec("P('data', None)", read_mesh("data=8"))
    assert alternatives.choices({0: sharding}, ["%x", "%w"], -1.0) == ([], 1)
    assert "before 1 other choices" in str(PlanExplanation(Goal.TIME, MESH, 1.0, (), 1))


def test_a_plan_explains_its_choices() -> None:
    program = sdy.Program.from_text(PROGRAM)
    plan = program.search(mesh="data=2,model=4", fix={"%w": "P(None, 'model')"}, memory="8MB", time_limit=20)
    explanation = plan.explain()
    found = {(each.names, each.dim, each.axis): each.extra for each in explanation.choices}
    assert found[("%w",), 1, "model"] is None
    assert all(extra is None or extra > 0 for extra in found.values())
    assert len(found) > 1
