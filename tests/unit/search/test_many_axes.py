"""On a mesh of more than three axes, the search places two at a time: it is quick, and finds what all choices find."""

from __future__ import annotations

import pytest
from support.slow_cases import slow_except

import sdy
from sdy.cost.machines.table import HARDWARE
from sdy.model.mesh import Mesh
from sdy.partitioner.network.minimum import minimum
from sdy.report.notation import read_mesh
from sdy.search import search_networks
from sdy.search.layout_choices import OpLayoutChoices
from sdy.search.program_network import ProgramNetwork
from sdy.search.search_networks import SearchNetworks
from sdy.search.search_request import Goal, SearchRequest
from sdy.search.searched_module import on_one_mesh, prepared_module
from sdy.search.transfer_costs import TransferCosts

PRODUCT = """
func.func @main(%x: tensor<512x1024xf32>, %w: tensor<1024x4096xf32>) -> tensor<512x4096xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<512x1024xf32>, tensor<1024x4096xf32>) -> tensor<512x4096xf32>
  return %0 : tensor<512x4096xf32>
}
"""
MLP = """
func.func @main(%x: tensor<512x1024xf32>, %up: tensor<1024x4096xf32>, %down: tensor<4096x1024xf32>)
    -> tensor<512x1024xf32> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0]
      : (tensor<512x1024xf32>, tensor<1024x4096xf32>) -> tensor<512x4096xf32>
  %1 = stablehlo.tanh %0 : tensor<512x4096xf32>
  %2 = stablehlo.dot_general %1, %down, contracting_dims = [1] x [0]
      : (tensor<512x4096xf32>, tensor<4096x1024xf32>) -> tensor<512x1024xf32>
  %3 = stablehlo.add %x, %2 : tensor<512x1024xf32>
  return %3 : tensor<512x1024xf32>
}
"""


def networks_of(text: str, mesh: Mesh) -> SearchNetworks:
    module = sdy.Program.from_text(text).module
    searched = prepared_module(module).on(mesh)
    request = SearchRequest(HARDWARE["tpu_v5e"], free_bytes=16e9, meshes=(mesh,))
    return SearchNetworks(on_one_mesh(module, mesh), searched, request)


@pytest.mark.parametrize("mesh", slow_except(["a=2,b=2,c=2,d=2"], ["a=2,b=2,c=2,d=2", "a=4,b=2,c=4,d=2"]))
def test_pairs_of_axes_find_the_best_placement_of_all_axes(mesh: str, monkeypatch: pytest.MonkeyPatch) -> None:
    objective = Goal.TIME.objectives()[0]
    by_pairs = networks_of(PRODUCT, read_mesh(mesh))
    found = by_pairs.solve(objective, 60)
    assert not by_pairs.has_all_choices
    monkeypatch.setattr(search_networks, "MOST_AXES_AT_ONCE", 4)
    at_once = networks_of(PRODUCT, read_mesh(mesh))
    best = at_once.solve(objective, 60)
    assert at_once.has_all_choices
    assert found is not None
    assert best is not None
    assert best.cost * (1 - 1e-9) <= found.cost <= best.cost * 1.001


def test_the_choices_do_not_grow_with_the_number_of_axes() -> None:
    objective = Goal.TIME.objectives()[0]
    networks = networks_of(MLP, read_mesh(",".join(f"a{number}=2" for number in range(9))))
    _, network = networks.solver(objective, 1)
    assert max(map(len, network.op_layouts)) < 60


def test_labels_of_two_axes_stand_for_the_same_cost_among_those_of_three() -> None:
    objective = Goal.TIME.objectives()[0]
    searched = prepared_module(sdy.Program.from_text(MLP).module).on(read_mesh("a=4,b=2,c=2"))
    digits = searched.graph.digits
    transfers = TransferCosts(digits, HARDWARE["tpu_v5e"])
    order = (0, 1, 2)
    three, two = (
        ProgramNetwork(
            searched.module, searched.graph, transfers, HARDWARE["tpu_v5e"], objective, OpLayoutChoices(free, order)
        )
        for free in (order, (0, 2))
    )
    found = minimum(two.network, 60.0)
    assert found is not None
    assert three.network.cost_of(three.labels_like(two, found.labels)) == pytest.approx(found.cost)
