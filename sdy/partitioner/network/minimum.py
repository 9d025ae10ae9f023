"""The minimum of a cost network: exact simplifications, then messages, and an integer program if a gap is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite
from time import monotonic

import numpy as np

from sdy.partitioner.network.cost_network import CostNetwork
from sdy.partitioner.network.integer_program import minimize
from sdy.partitioner.network.message_passing import Assignment, pass_messages
from sdy.partitioner.network.reduction import ReducedNetwork

GAP = 1e-4  # the relative difference of cost and bound at which the search stops
SHARE_OF_MESSAGES = 0.5  # of the time
NEAR = (1e-4, 1e-3)  # fractions of the bound by which a label may exceed the best one after the messages
MAX_ENTRIES = 2_000_000  # of tables, with which an integer program has too many columns


@dataclass(frozen=True, slots=True)
class Minimum:
    """An assignment of labels with its cost, and a lower bound of the cost of every assignment."""

    labels: list[int]
    cost: float
    bound: float


def minimum(network: CostNetwork, seconds: float, gap: float = GAP) -> Minimum | None:
    """Return an assignment whose cost exceeds the minimum by at most the fraction `gap`.

    Return None if no assignment has a finite cost. If `seconds` pass, the cost may exceed the bound by more; if no
    assignment was found by then, and the first labels of all variables are impossible, also return None.
    Raises: SdyError SDY-T250 if messages leave a gap and HiGHS is not installed.
    """
    reduced = ReducedNetwork(network)
    best = [0] * len(network.costs)  # possible in the network of a program: nothing is sharded
    cost, bound = network.cost_of(best), -inf
    for labels, least in _attempts(reduced, seconds, gap):
        bound = max(bound, reduced.constant + least)
        best = min(best, reduced.labels(labels), key=network.cost_of)
        cost = network.cost_of(best)
        if cost - bound <= max(gap * abs(bound), 0.0):
            break
    return Minimum(best, cost, min(cost, bound)) if isfinite(cost) else None


def _attempts(reduced: ReducedNetwork, seconds: float, gap: float) -> Iterator[tuple[dict[int, int], float]]:
    """Yield labels of the remaining variables, and a lower bound of their costs, by one method after the other."""
    network, remaining, end = reduced.network, list(reduced.remaining), monotonic() + seconds
    if not remaining:
        yield {}, 0.0
        return
    found = pass_messages(network, remaining, SHARE_OF_MESSAGES * seconds, gap)
    yield found.labels, found.bound
    spent = 0.0  # by one fraction; a larger one takes longer
    for fraction in NEAR:
        start = monotonic()
        if start + spent < end:
            yield _best_near(network, found, fraction * (reduced.constant + found.bound), end - start, gap), -inf
        spent = monotonic() - start
    if sum(table.size for *_, table in network.pairs()) <= MAX_ENTRIES:
        exact = minimize(network, remaining, end - monotonic(), gap)
        if exact is not None:
            yield exact.labels, exact.bound


def _best_near(network: CostNetwork, found: Assignment, most: float, seconds: float, gap: float) -> dict[int, int]:
    """Return labels chosen among those that exceed the best one of their variable by at most `most`.

    If the bound is the minimum, the labels of a minimum are the best ones of their variables once messages have
    converged, but so are others, which are not compatible. So few are left that simplifications solve most of the rest.
    """
    near = network.copy()
    for variable, excess in found.excess.items():
        near.costs[variable] = np.where(excess <= most, near.costs[variable], inf)
    reduced = ReducedNetwork(near)
    remaining = list(reduced.remaining)
    among = pass_messages(reduced.network, remaining, SHARE_OF_MESSAGES * seconds, gap).labels if remaining else {}
    labels = reduced.labels(among)
    return {variable: labels[variable] for variable in found.labels}
