"""Cost networks: variables with a few labels each, and costs of single labels and of pairs of labels.

The cost of an assignment of one label to each variable is the sum of the entries that it selects. An infinite entry
forbids a label or a pair of labels. Such a sum is also called a discrete graphical model, or a weighted constraint
satisfaction problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.float64]  # by label of one variable
Table = NDArray[np.float64]  # by label of two variables


@dataclass(slots=True)
class CostNetwork:
    """A sum of costs over variables, which are numbered from 0.

    `costs[v]` has the cost of each label of variable `v`. `tables[v][w]` has the cost of each pair of labels, with
    those of `v` along the rows; `tables[w][v]` is its transpose.
    """

    costs: list[Costs] = field(default_factory=list[Costs])
    tables: list[dict[int, Table]] = field(default_factory=list[dict[int, Table]])

    def add_variable(self, costs: Sequence[float] | Costs) -> int:
        """Add a variable with the costs of its labels; return its number."""
        self.costs.append(np.array(costs, dtype=np.float64))
        self.tables.append({})
        return len(self.costs) - 1

    def add_costs(self, variable: int, costs: Costs) -> None:
        """Add to the costs of the labels of a variable."""
        self.costs[variable] = self.costs[variable] + costs

    def add_table(self, first: int, second: int, table: Table) -> None:
        """Add costs for pairs of labels of two variables, those of `first` along the rows. They may be the same."""
        if first == second:
            self.add_costs(first, np.diagonal(table))
            return
        known = self.tables[first].get(second)
        total = table if known is None else known + table
        self.tables[first][second], self.tables[second][first] = total, total.T

    def remove_table(self, first: int, second: int) -> None:
        """Remove the table between two variables."""
        del self.tables[first][second]
        del self.tables[second][first]

    def keep_labels(self, variable: int, labels: NDArray[np.intp]) -> None:
        """Remove all labels of a variable except some; the others are renumbered in their order."""
        self.costs[variable] = self.costs[variable][labels]
        for other, table in self.tables[variable].items():
            kept = table[labels]
            self.tables[variable][other], self.tables[other][variable] = kept, kept.T

    def copy(self) -> CostNetwork:
        """Return a network that can be changed independently. Arrays are never changed in place, so they are shared."""
        return CostNetwork(list(self.costs), [dict(tables) for tables in self.tables])

    def cost_of(self, labels: Sequence[int]) -> float:
        """Return the cost of an assignment, which has a label for each variable."""
        total = sum(float(costs[label]) for costs, label in zip(self.costs, labels, strict=True))
        for first, tables in enumerate(self.tables):
            total += sum(
                float(table[labels[first], labels[second]]) for second, table in tables.items() if first < second
            )
        return total

    def pairs(self) -> Iterable[tuple[int, int, Table]]:
        """Yield each table once, with the numbers of its two variables."""
        for first, tables in enumerate(self.tables):
            yield from ((first, second, table) for second, table in tables.items() if first < second)
