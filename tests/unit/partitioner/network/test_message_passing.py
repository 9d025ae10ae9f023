"""Messages give a bound that no assignment goes below, and labels whose cost is the one that is reported."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest

from sdy.partitioner.network.cost_network import CostNetwork
from sdy.partitioner.network.message_passing import pass_messages
from sdy.partitioner.network.minimum import minimum


def grid(seed: int, rows: int, columns: int, labels: int = 3) -> CostNetwork:
    """Return a grid of variables with random tables, some of whose pairs are forbidden."""
    draw = np.random.default_rng(seed)
    network = CostNetwork()
    for _ in range(rows * columns):
        network.add_variable(draw.random(labels))
    for row, column in product(range(rows), range(columns)):
        own = row * columns + column
        for other, exists in ((own + 1, column + 1 < columns), (own + columns, row + 1 < rows)):
            if exists:
                table = np.where(draw.random((labels, labels)) < 0.1, inf, draw.random((labels, labels)))
                network.add_table(own, other, table)
    return network


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_below_every_assignment(seed: int) -> None:
    network = grid(seed, 3, 3)
    found = pass_messages(network, range(9), seconds=10.0, gap=0.0)
    least = min(network.cost_of(labels) for labels in product(range(3), repeat=9))
    assert found.bound <= least + 1e-9
    assert found.bound >= 0.9 * least
    assert found.cost == pytest.approx(network.cost_of([found.labels[number] for number in range(9)]))
    assert found.cost <= 1.2 * least


@pytest.mark.parametrize("seed", range(10))
def test_a_tree_is_solved_exactly(seed: int) -> None:
    network = grid(seed, 1, 9)
    found = pass_messages(network, range(9), seconds=10.0, gap=1e-9)
    assert found.is_within(1e-6)
    assert found.cost == pytest.approx(min(network.cost_of(labels) for labels in product(range(3), repeat=9)))


def test_forbidden_networks_have_no_possible_labels() -> None:
    network = CostNetwork()
    first, second = network.add_variable([0.0, 1.0]), network.add_variable([2.0])
    network.add_table(first, second, np.full((2, 1), inf))
    found = pass_messages(network, (first, second), seconds=1.0, gap=0.0)
    assert found.cost == inf
    assert not found.is_within(0.5)


def test_without_time_there_is_a_bound_of_one_sweep() -> None:
    network = grid(0, 4, 4)
    found = pass_messages(network, range(16), seconds=0.0, gap=0.0)
    assert sum(float(costs.min()) for costs in network.costs) < found.bound <= found.cost


@pytest.mark.parametrize("seed", [5, 38])
def test_labels_near_the_bound_are_chosen_together(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cost of 0 is possible, and messages find the bound but labels that cost more; no integer program is needed."""
    draw, side, labels = np.random.default_rng(seed), 6, 6
    network, hidden = CostNetwork(), draw.integers(0, labels, side * side)
    for _ in range(side * side):
        network.add_variable(np.ones(labels))
    for row, column in product(range(side), range(side)):
        own = row * side + column
        for other, exists in ((own + 1, column + 1 < side), (own + side, row + 1 < side)):
            if exists:
                table = np.where(draw.random((labels, labels)) < 0.7, 1.0, 0.0)
                table[hidden[own], hidden[other]] = 0.0
                network.add_table(own, other, table)
    by_messages = pass_messages(network, range(side * side), seconds=10.0, gap=0.0)
    assert by_messages.bound == pytest.approx(side * side, rel=1e-3)
    assert by_messages.cost > side * side

    def not_needed(*_: object) -> None:
        pytest.fail("the integer program was needed")

    monkeypatch.setattr("sdy.partitioner.network.minimum.minimize", not_needed)
    found = minimum(network, seconds=10.0)
    assert found is not None
    assert found.cost == pytest.approx(side * side)
