"""Exact simplifications of a cost network, each of which can be undone for an optimal assignment.

    variable with one label          its tables become costs of its neighbours
    variable with one neighbour      its best cost, for each label of the neighbour, becomes a cost of the neighbour
    variable with two neighbours     the same, for each pair of labels of the neighbours
    label that another one beats     removed: whatever the labels of the neighbours, the other label costs no more

The last one is known as dead-end elimination, the others as reductions of a partitioned boolean quadratic problem.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from sdy.partitioner.network.cost_network import CostNetwork, Costs, Table

MAX_PRODUCT = 1e8  # steps to eliminate a variable with two neighbours
MAX_COMPARED = 100  # labels of a variable; comparing more takes longer than it saves
MAX_DIFFERENCES = 2**15  # of costs, which are computed at once: they fit in a cache

Labels = NDArray[np.intp]  # the original numbers of the labels that a variable still has, ascending


@dataclass(frozen=True, slots=True)
class _Eliminated:
    """An eliminated variable, with its costs, tables and labels at the time when it was eliminated."""

    variable: int
    labels: Labels
    costs: Costs
    tables: list[tuple[int, Labels, Table]]  # a neighbour, its labels, and the table

    def best(self, labels: list[int]) -> int:
        """Return the best label if the neighbours have these labels."""
        costs = self.costs
        for other, known, table in self.tables:
            costs = costs + table[:, np.searchsorted(known, labels[other])]
        return int(self.labels[np.argmin(costs)])


class ReducedNetwork:
    """A cost network with fewer variables and labels whose minimum is that of another one.

    `network` still has all variables; those that are eliminated have no tables, and are not in `remaining`.
    """

    def __init__(self, network: CostNetwork) -> None:
        self.network = network.copy()
        self.constant = 0.0  # the minimum is this much more than that of the remaining variables
        self.remaining = dict.fromkeys(range(len(network.costs)))
        self._labels: list[Labels] = [np.arange(len(costs)) for costs in network.costs]
        self._eliminated: list[_Eliminated] = []
        self._reduce()

    def labels(self, of_remaining: dict[int, int]) -> list[int]:
        """Return the labels of all variables, in the original network, for labels of the remaining ones in this one."""
        found = [0] * len(self._labels)
        for variable, label in of_remaining.items():
            found[variable] = int(self._labels[variable][label])
        for each in reversed(self._eliminated):
            found[each.variable] = each.best(found)
        return found

    def _reduce(self) -> None:
        stale = dict.fromkeys(self.remaining)
        while stale:
            self._eliminate_all(stale)
            stale = dict.fromkeys(
                other
                for variable in list(self.remaining)
                if self._remove_beaten_labels(variable)
                for other in (variable, *self.network.tables[variable])
            )

    def _eliminate_all(self, variables: Iterable[int]) -> None:
        pending = deque(variables)
        waiting = set(pending)
        while pending:
            variable = pending.popleft()
            waiting.discard(variable)
            if variable in self.remaining and self._can_eliminate(variable):
                neighbours = list(self.network.tables[variable])
                self._eliminate(variable)
                pending += [each for each in neighbours if each not in waiting]
                waiting.update(neighbours)

    def _can_eliminate(self, variable: int) -> bool:
        labels, neighbours = len(self.network.costs[variable]), self.network.tables[variable]
        if len(neighbours) < 2 or labels == 1:
            return True
        return (
            len(neighbours) == 2 and prod(len(self.network.costs[other]) for other in neighbours) * labels < MAX_PRODUCT
        )

    def _eliminate(self, variable: int) -> None:
        network = self.network
        costs, tables = network.costs[variable], dict(network.tables[variable])
        known = [(other, self._labels[other], table) for other, table in tables.items()]
        self._eliminated.append(_Eliminated(variable, self._labels[variable], costs, known))
        del self.remaining[variable]
        for other in tables:
            network.remove_table(variable, other)
        match list(tables.items()):
            case []:
                self.constant += float(costs.min())
            case [(other, table)]:
                network.add_costs(other, (costs[:, None] + table).min(axis=0))
            case [(first, to_first), (second, to_second)] if len(costs) > 1:
                network.add_table(first, second, _min_plus(to_first.T + costs, to_second))
            case neighbours:  # the variable has one label
                self.constant += float(costs[0])
                for other, table in neighbours:
                    network.add_costs(other, table[0])

    def _remove_beaten_labels(self, variable: int) -> bool:
        """Remove the labels that another label beats; return whether there were any."""
        beaten = _beaten_labels(self.network, variable)
        if not beaten.any():
            return False
        kept = np.flatnonzero(~beaten)
        self.network.keep_labels(variable, kept)
        self._labels[variable] = self._labels[variable][kept]
        return True


def _min_plus(first: Table, second: Table) -> Table:
    """Return the product of two tables in which sums are minima and products are sums."""
    return np.stack([(row[:, None] + second).min(axis=0) for row in first])


def _beaten_labels(network: CostNetwork, variable: int) -> NDArray[np.bool_]:
    """Return for each label whether another one, that stays, costs no more for any labels of the neighbours."""
    costs = network.costs[variable]
    beaten = ~np.isfinite(costs)
    if beaten.all():
        beaten[0] = False  # an infeasible network stays one
    if len(costs) > MAX_COMPARED:
        return beaten
    more = _least_differences(costs, list(network.tables[variable].values()))
    np.fill_diagonal(more, -np.inf)
    more[:, beaten] = -np.inf
    for label in np.argsort(-costs, kind="stable"):
        if not beaten[label] and (more[label] >= 0).any():
            beaten[label] = True
            more[:, label] = -np.inf
    return beaten


def _least_differences(costs: Costs, tables: Sequence[Table]) -> Table:
    """Return the least that each label (row) costs more than each other one (column), whatever the neighbours are."""
    with np.errstate(invalid="ignore"):
        found = costs[:, None] - costs
        for table in tables:
            rows = max(1, MAX_DIFFERENCES // table.size)
            for first in range(0, len(table), rows):
                difference = table[first : first + rows, None] - table
                # Pairs that both labels forbid do not matter.
                np.copyto(difference, np.inf, where=np.isnan(difference))
                found[first : first + rows] += difference.min(axis=2)
    return np.where(np.isnan(found), -np.inf, found)
