"""The minimum of a cost network: equal to the best of all assignments tried one by one."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations, product
from math import inf

import numpy as np
import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.partitioner.network import integer_program
from sdy.partitioner.network.cost_network import CostNetwork
from sdy.partitioner.network.minimum import minimum
from sdy.partitioner.network.reduction import ReducedNetwork


def random_network(seed: int, sizes: int = 5, density: float = 0.8, forbidden: float = 0.1) -> CostNetwork:
    """Return a network of up to six variables with up to four labels; some labels and pairs are forbidden."""
    draw = np.random.default_rng(seed)
    network = CostNetwork()
    counts = [int(draw.integers(1, sizes)) for _ in range(draw.integers(2, 7))]

    def costs(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.where(draw.random(shape) < forbidden, inf, draw.integers(0, 9, shape))

    for count in counts:
        network.add_variable(costs(count))
    for first, second in combinations(range(len(counts)), 2):
        if draw.random() < density:
            network.add_table(first, second, costs(counts[first], counts[second]))
    return network


def least_cost(network: CostNetwork) -> float:
    return min(network.cost_of(labels) for labels in product(*(range(len(costs)) for costs in network.costs)))


@pytest.mark.parametrize("seed", range(200))
def test_the_minimum_is_the_best_assignment(seed: int) -> None:
    network = random_network(seed)
    found, least = minimum(network, seconds=10), least_cost(network)
    if least == inf:
        assert found is None
        return
    assert found is not None
    assert network.cost_of(found.labels) == pytest.approx(found.cost)
    assert found.cost == pytest.approx(least)
    assert least * (1 - 1e-3) <= found.bound <= least * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(50))
def test_reductions_keep_the_minimum(seed: int) -> None:
    network = random_network(seed, density=1.0, forbidden=0.0)
    reduced = ReducedNetwork(network)
    remaining = list(reduced.remaining)
    sizes = [range(len(reduced.network.costs[variable])) for variable in remaining]
    best = min(network.cost_of(reduced.labels(dict(zip(remaining, labels, strict=True)))) for labels in product(*sizes))
    assert best == pytest.approx(least_cost(network))


def test_chains_and_cycles_need_no_integer_program() -> None:
    network = CostNetwork()
    ring = [network.add_variable([0.0, 1.0, 2.0]) for _ in range(12)]
    for first, second in zip(ring, ring[1:] + ring[:1], strict=True):
        network.add_table(first, second, np.array([[5.0, 1.0, 9.0], [2.0, 7.0, 0.0], [1.0, 3.0, 8.0]]))
    assert not ReducedNetwork(network).remaining
    found = minimum(network, seconds=1)
    assert found is not None
    assert found.cost == found.bound


def test_without_time_the_first_labels_are_an_assignment_with_a_bound() -> None:
    network = random_network(7, sizes=9, density=1.0, forbidden=0.0)
    found = minimum(network, seconds=0.0, gap=inf)
    assert found is not None
    assert 0 < found.bound <= found.cost <= network.cost_of([0] * len(network.costs))


def test_a_variable_with_itself_has_costs_only() -> None:
    network = CostNetwork()
    variable = network.add_variable([1.0, 2.0])
    network.add_table(variable, variable, np.array([[5.0, 0.0], [0.0, 1.0]]))
    assert network.cost_of([0]) == 6.0
    assert network.cost_of([1]) == 3.0


def test_without_highs_a_large_network_is_one_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(integer_program, "import_module", missing)
    network = random_network(7, sizes=9, density=1.0, forbidden=0.0)
    assert ReducedNetwork(network).remaining
    with pytest.raises(SdyError, match="pip install 'sdy\\[search\\]'") as caught:
        minimum(network, seconds=1)
    assert caught.value.diagnostics[0].code == "SDY-T250"


def test_the_solver_prints_nothing() -> None:
    """HiGHS prints its banner once per process, so the test needs a new one."""
    pytest.importorskip("highspy", reason="HiGHS is not installed")
    program = (
        "import numpy\n"
        "from sdy.partitioner.network.cost_network import CostNetwork\n"
        "from sdy.partitioner.network.integer_program import minimize\n"
        "network = CostNetwork()\n"
        "network.add_variable(numpy.array([1.0, 0.0]))\n"
        "solution = minimize(network, [0], 1.0, 0.0)\n"
        "assert solution is not None and solution.labels == {0: 1}"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
