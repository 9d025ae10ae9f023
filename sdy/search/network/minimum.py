"""The minimum of a cost network: exact simplifications, then an integer program for what is left."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from sdy.search.network.cost_network import CostNetwork
from sdy.search.network.integer_program import minimize
from sdy.search.network.reduction import ReducedNetwork

GAP = 1e-4  # the relative difference of cost and bound at which the search stops


@dataclass(frozen=True, slots=True)
class Minimum:
    """An assignment of labels with its cost, and a lower bound of the cost of every assignment."""

    labels: list[int]
    cost: float
    bound: float


def minimum(network: CostNetwork, seconds: float, gap: float = GAP) -> Minimum | None:
    """Return an assignment whose cost exceeds the minimum by at most the fraction `gap`.

    Return None if no assignment has a finite cost. If `seconds` pass, the cost may exceed the bound by more; if no
    assignment was found by then, also return None.
    Raises: SdyError SDY-T250 if the network is large and HiGHS is not installed.
    """
    reduced = ReducedNetwork(network)
    labels, bound = dict[int, int](), 0.0
    if reduced.remaining:
        found = minimize(reduced.network, list(reduced.remaining), seconds, gap)
        if found is None:
            return None
        labels, bound = found.labels, found.bound
    assignment = reduced.labels(labels)
    cost = network.cost_of(assignment)
    return Minimum(assignment, cost, min(cost, reduced.constant + bound)) if isfinite(cost) else None
