"""The solution of the search is the best of all shardings, tried one by one, in the costs that it minimizes.

A few programs by default; `pytest -m slow` tries three hundred.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray
from support.search_networks import network_of_all_layouts
from xdsl.ir import Operation

import sdy
from sdy.cost.machines.table import HARDWARE
from sdy.model.mesh import Mesh, MeshAxis
from sdy.partitioner.network.cost_network import CostNetwork
from sdy.partitioner.network.minimum import minimum
from sdy.search.program_network import ProgramNetwork
from sdy.search.searched_module import SearchedModule, prepared_module

MESHES = (Mesh((MeshAxis("a", 2), MeshAxis("b", 2))), Mesh((MeshAxis("a", 4), MeshAxis("b", 2))))
MACHINE = HARDWARE["tpu_v5e"]
MAX_ASSIGNMENTS = 3_000_000


def random_text(seed: int) -> str:
    """Return a program of two to six ops on square matrices of one size."""
    draw = Random(seed)
    size = draw.choice((64, 512, 2048, 8192))
    matrix = f"tensor<{size}x{size}xf32>"
    values, lines = ["%a", "%b"], list[str]()
    for number in range(draw.randint(2, 6)):
        first, second = draw.choice(values), draw.choice(values)
        match draw.choice(("dot", "dot", "add", "multiply", "tanh", "transpose")):
            case "dot":
                lhs, rhs = draw.choice((0, 1)), draw.choice((0, 1))
                types = f"({matrix}, {matrix}) -> {matrix}"
                op = f"dot_general {first}, {second}, contracting_dims = [{lhs}] x [{rhs}] : {types}"
            case "transpose":
                op = f"transpose {first}, dims = [1, 0] : ({matrix}) -> {matrix}"
            case "tanh":
                op = f"tanh {first} : {matrix}"
            case name:
                op = f"{name} {first}, {second} : {matrix}"
        lines.append(f"  %{number} = stablehlo.{op}")
        values.append(f"%{number}")
    body = "\n".join(lines)
    return f"func.func @main(%a: {matrix}, %b: {matrix}) -> {matrix} {{\n{body}\n  return {values[-1]} : {matrix}\n}}"


def least_cost(network: CostNetwork, ops: list[int]) -> float:
    """Return the least cost of all assignments; all labels of `ops` are tried together."""
    sizes = [len(network.costs[variable]) for variable in ops]
    total = np.zeros(sizes)
    for variable in ops:
        total += along(ops, {variable: network.costs[variable]})
        for other, table in network.tables[variable].items():
            if other in ops and variable < other:
                total += pairs(ops, variable, other, table)
    for component in components(network, set(ops)):
        total += least_of_component(network, ops, component)
    return float(total.min())


def along(ops: list[int], costs: dict[int, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the sum of costs by label of some ops, as an array with a dim for each op."""
    found = np.zeros([1] * len(ops))
    for variable, values in costs.items():
        found = found + values.reshape([len(values) if each == variable else 1 for each in ops])
    return found


def pairs(ops: list[int], first: int, second: int, table: NDArray[np.float64]) -> NDArray[np.float64]:
    rows, columns = table.shape
    ordered = table if ops.index(first) < ops.index(second) else table.T
    return ordered.reshape([rows if each == first else columns if each == second else 1 for each in ops])


def components(network: CostNetwork, ops: set[int]) -> Iterator[list[int]]:
    """Yield the variables that are not ops, in groups that have no table with each other."""
    left = [variable for variable in range(len(network.costs)) if variable not in ops]
    while left:
        found, waiting = list[int](), [left[0]]
        while waiting:
            variable = waiting.pop()
            if variable in left:
                left.remove(variable)
                found.append(variable)
                waiting += [other for other in network.tables[variable] if other not in ops]
        yield found


def least_of_component(network: CostNetwork, ops: list[int], component: list[int]) -> NDArray[np.float64]:
    """Return the least cost of the variables of a component, by the labels of the ops."""
    best: NDArray[np.float64] | None = None
    for labels in product(*(range(len(network.costs[variable])) for variable in component)):
        own = dict(zip(component, labels, strict=True))
        cost, to_ops = 0.0, dict[int, NDArray[np.float64]]()
        for variable, label in own.items():
            cost += float(network.costs[variable][label])
            for other, table in network.tables[variable].items():
                if other in own:
                    cost += float(table[label, own[other]]) / 2  # each table is seen from both sides
                else:
                    to_ops[other] = table[label] + to_ops.get(other, 0.0)
        here = cost + along(ops, to_ops)
        best = here if best is None else np.minimum(best, here)
    assert best is not None
    return best


def network_of(seed: int, mesh: Mesh) -> tuple[ProgramNetwork, SearchedModule]:
    searched = prepared_module(sdy.Program.from_text(random_text(seed)).module).on(mesh)
    return network_of_all_layouts(searched), searched


@pytest.mark.parametrize("mesh", MESHES, ids=["2x2", "4x2"])
@pytest.mark.parametrize("count", [5, pytest.param(150, marks=pytest.mark.slow)])
def test_no_sharding_is_better(count: int, mesh: Mesh) -> None:
    tried = 0
    for seed in range(3 * count):
        network, searched = network_of(seed, mesh)
        ops = [number for number, op in enumerate(searched.graph.ops) if isinstance(op, Operation)]
        if prod(len(network.network.costs[op]) for op in ops) > MAX_ASSIGNMENTS:
            continue
        found = minimum(network.network, seconds=60, gap=0.0)
        assert found is not None
        assert found.cost == pytest.approx(least_cost(network.network, ops), rel=1e-9), f"seed {seed}"
        assert found.bound <= found.cost
        tried += 1
        if tried == count:
            return
    pytest.fail(f"only {tried} programs have few enough assignments")
