"""Bound the minimum of a cost network from below, and find good assignments, by passing messages between variables.

The variables are visited in order, then in reverse order. Each one sends to its later, or earlier, neighbours a part of
its costs: for each label of the neighbour, the least that its own best label then costs. Messages move costs between
variables and tables but do not change their sum, so the sum of the least remaining costs is a lower bound of the
minimum, which rises from sweep to sweep towards that of the linear relaxation. One sweep takes as long as reading all
tables a few times, so networks with millions of entries are solved in seconds, for which a solver of linear programs
needs minutes.

Source: sequential tree-reweighted message passing (TRW-S), Kolmogorov, "Convergent Tree-Reweighted Message Passing for
Energy Minimization", 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from time import monotonic
from typing import NamedTuple

import numpy as np

from sdy.partitioner.network.cost_network import CostNetwork, Costs, Table

PATIENCE = 30  # sweeps in which the bound must rise
LEAST_RISE = 1e-4  # the fraction by which it must rise
ROUNDING = 1e-9  # a relative difference of cost and bound that floating-point sums may have


@dataclass(frozen=True, slots=True)
class Assignment:
    """Labels by variable with their cost, which is infinite if no possible ones were found, and a lower bound.

    `excess` has what each label of a variable costs more than its best one, after the last messages.
    """

    labels: dict[int, int]
    cost: float
    bound: float
    excess: dict[int, Costs] = field(default_factory=dict[int, Costs])

    def is_within(self, gap: float) -> bool:
        """Return whether the cost exceeds the bound by at most a fraction."""
        return isfinite(self.cost) and self.cost - self.bound <= max(gap, ROUNDING) * abs(self.bound)


class _Link(NamedTuple):
    """A table seen from one of its variables: the other variable, and the costs with the own labels along the rows."""

    other: int
    table: Table


@dataclass(slots=True)
class _Variable:
    """The costs of the labels of a variable, and its tables with earlier and later variables."""

    number: int
    costs: Costs
    earlier: list[_Link] = field(default_factory=list[_Link])
    later: list[_Link] = field(default_factory=list[_Link])

    @property
    def share(self) -> float:
        """The share of the costs that is sent to each neighbour on one side."""
        return 1 / max(1, len(self.earlier), len(self.later))


def pass_messages(network: CostNetwork, variables: Sequence[int], seconds: float, gap: float) -> Assignment:
    """Return the best assignment found for some variables, which have no tables with others, and the best bound.

    Stop if the cost exceeds the bound by at most the fraction `gap`, if the bound no longer rises, or after `seconds`.
    """
    return _MessagePassing(network, variables).run(seconds, gap)


class _MessagePassing:
    """Messages between variables: `_messages[v, w]` has for each label of `w` the costs that `v` has moved to it."""

    def __init__(self, network: CostNetwork, variables: Sequence[int]) -> None:
        forbidden = _more_than_any(network)
        self._variables = {each: _Variable(each, _finite(network.costs[each], forbidden)) for each in variables}
        self._forbidden = forbidden
        self._messages: dict[tuple[int, int], Costs] = {}
        for first, second, table in network.pairs():
            finite = _finite(table, forbidden)
            self._variables[first].later.append(_Link(second, finite))
            self._variables[second].earlier.append(_Link(first, finite.T))
            self._messages[first, second] = np.zeros(table.shape[1])
            self._messages[second, first] = np.zeros(table.shape[0])

    def run(self, seconds: float, gap: float) -> Assignment:
        """Send messages until one of the ends of `pass_messages`, but in one sweep at least."""
        end = monotonic() + seconds
        best, bounds = Assignment(dict.fromkeys(self._variables, 0), inf, -inf), list[float]()
        while not bounds or (not best.is_within(gap) and monotonic() < end and _is_rising(bounds)):
            labels = self._forward()
            cost, bound = self._cost(labels), self._backward()
            bounds.append(max(bound, best.bound))
            better = Assignment(labels, cost, bound) if cost < best.cost else best
            best = Assignment(better.labels, better.cost, min(bounds[-1], better.cost))
        return replace(best, excess=self._excess())

    def _excess(self) -> dict[int, Costs]:
        totals = {variable.number: self._total(variable) for variable in self._variables.values()}
        return {number: total - total.min() for number, total in totals.items()}

    def _forward(self) -> dict[int, int]:
        """Send messages to later variables; return the labels that are best given those of earlier variables."""
        labels: dict[int, int] = {}
        for variable in self._variables.values():
            number, costs = variable.number, variable.costs
            from_later = sum((self._messages[link.other, number] for link in variable.later), start=costs)
            chosen = sum((link.table[:, labels[link.other]] for link in variable.earlier), start=from_later)
            labels[number] = int(np.argmin(chosen))
            total = sum((self._messages[link.other, number] for link in variable.earlier), start=from_later)
            self._send(variable, total - total.min(), variable.later)
        return labels

    def _backward(self) -> float:
        """Send messages to earlier variables; return the lower bound, the sum of the least remaining costs."""
        bound = 0.0
        for variable in reversed(self._variables.values()):
            total = self._total(variable)
            least = float(total.min())
            bound += least + self._send(variable, total - least, variable.earlier)
        return bound

    def _total(self, variable: _Variable) -> Costs:
        """Return the costs of the labels of a variable with all that its neighbours have moved to them."""
        links = (*variable.earlier, *variable.later)
        return sum((self._messages[link.other, variable.number] for link in links), start=variable.costs)

    def _send(self, variable: _Variable, costs: Costs, links: Sequence[_Link]) -> float:
        """Send a share of the costs to some neighbours; return the sum of the least costs that stay in the tables."""
        kept = 0.0
        for other, table in links:
            own = variable.share * costs - self._messages[other, variable.number]
            message = (own[:, None] + table).min(axis=0)
            least = float(message.min())
            self._messages[variable.number, other] = message - least
            kept += least
        return kept

    def _cost(self, labels: dict[int, int]) -> float:
        total = 0.0
        for number, variable in self._variables.items():
            label = labels[number]
            total += float(variable.costs[label])
            total += sum(float(link.table[label, labels[link.other]]) for link in variable.later)
        return total if total < self._forbidden else inf


def _more_than_any(network: CostNetwork) -> float:
    """Return a cost above that of every possible assignment; it stands for an infinite one."""
    tables = [table for *_, table in network.pairs()]
    largest = (float(np.max(each, where=np.isfinite(each), initial=0.0)) for each in (*network.costs, *tables))
    return 2 * sum(largest) or 1.0


def _finite(costs: Costs, forbidden: float) -> Costs:
    return np.where(np.isfinite(costs), costs, forbidden)


def _is_rising(bounds: Sequence[float]) -> bool:
    if len(bounds) <= PATIENCE or not isfinite(bounds[-1]):
        return True
    return bounds[-1] - bounds[-1 - PATIENCE] > LEAST_RISE * abs(bounds[-1])
