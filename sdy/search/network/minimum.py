"""The minimum of a cost network: exact simplifications, then messages, and an integer program if a gap is left."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from time import monotonic

from sdy.search.network.cost_network import CostNetwork
from sdy.search.network.integer_program import minimize
from sdy.search.network.message_passing import pass_messages
from sdy.search.network.reduction import ReducedNetwork

GAP = 1e-4  # the relative difference of cost and bound at which the search stops
SHARE_OF_MESSAGES = 0.5  # of the time
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
    found, bound = _minimum(reduced, seconds, gap)
    first = [0] * len(network.costs)  # possible in the network of a program: nothing is sharded
    assignment = min((*map(reduced.labels, found), first), key=network.cost_of)
    cost = network.cost_of(assignment)
    return Minimum(assignment, cost, min(cost, reduced.constant + bound)) if isfinite(cost) else None


def _minimum(reduced: ReducedNetwork, seconds: float, gap: float) -> tuple[list[dict[int, int]], float]:
    """Return labels of the remaining variables, of which the best ones count, and a lower bound of their costs."""
    network, remaining, end = reduced.network, list(reduced.remaining), monotonic() + seconds
    if not remaining:
        return [{}], 0.0
    found = pass_messages(network, remaining, SHARE_OF_MESSAGES * seconds, gap)
    if found.is_within(gap) or sum(table.size for *_, table in network.pairs()) > MAX_ENTRIES:
        return [found.labels], found.bound
    exact = minimize(network, remaining, end - monotonic(), gap)
    if exact is None:
        return [found.labels], found.bound
    return [exact.labels, found.labels], max(exact.bound, found.bound)
