"""The cost network of a layout graph: which layouts its values may have, and what each choice costs.

op                          a variable; its labels are op layouts
value with several users    a variable; its labels are layouts, to one of which the value is brought for all users
value                       a table: the cost of bringing it from the layout of its producer to that of its user
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdy.partitioner.layout_search.graph import GraphValue, LayoutGraph, NodeTensor
from sdy.partitioner.layout_search.layout import Layout
from sdy.partitioner.layout_search.node import OpLayout
from sdy.partitioner.network.cost_network import CostNetwork, Costs, Table


@dataclass(frozen=True, slots=True)
class LayoutEnd:
    """The layouts of a value that the labels of a variable stand for: that of label i is `layouts[numbers[i]]`."""

    variable: int
    layouts: tuple[Layout, ...]
    numbers: NDArray[np.intp]

    @staticmethod
    def of_tensor(end: NodeTensor, op_layouts: Sequence[Sequence[OpLayout]]) -> LayoutEnd:
        """Return the end of a value at a tensor of a node, given the op layouts of all nodes."""
        return LayoutEnd.of(end.node, [op_layout.layouts[end.position] for op_layout in op_layouts[end.node]])

    @staticmethod
    def of(variable: int, layouts: Sequence[Layout]) -> LayoutEnd:
        """Return the end of a value at a variable with a layout per label."""
        number = {layout: index for index, layout in enumerate(dict.fromkeys(layouts))}
        return LayoutEnd(variable, tuple(number), np.array([number[layout] for layout in layouts], dtype=np.intp))


class LayoutNetwork:
    """The cost network of a graph, and the op layouts that its labels stand for.

    Variable `n` is node `n` of the graph; its label `i` is `op_layouts[n][i]`. `shared` has the variable of each value
    with several users.
    """

    def __init__(
        self, graph: LayoutGraph, op_layouts: Sequence[Sequence[OpLayout]], costs_of_nodes: Iterable[Costs]
    ) -> None:
        self.graph = graph
        self.op_layouts = op_layouts
        self.shared: dict[int, LayoutEnd] = {}
        self.network = CostNetwork()
        for costs in costs_of_nodes:
            self.network.add_variable(costs)
        for number, value in enumerate(graph.values):
            if not value.is_free:
                self._add_value(number, value)

    def table(self, value: GraphValue, sources: Sequence[Layout], targets: Sequence[Layout]) -> Table:
        """Return the cost of bringing a value once from each source (rows) to each target (columns)."""
        raise NotImplementedError

    def chosen(self, labels: Sequence[int]) -> list[OpLayout]:
        """Return the op layout of each node that its label stands for."""
        return [op_layouts[label] for op_layouts, label in zip(self.op_layouts, labels, strict=False)]

    def layout(self, end: NodeTensor, labels: Sequence[int]) -> Layout:
        """Return the layout of a tensor of a node that its label stands for."""
        return self.op_layouts[end.node][labels[end.node]].layouts[end.position]

    def _add_value(self, number: int, value: GraphValue) -> None:
        users = [LayoutEnd.of_tensor(end, self.op_layouts) for end in value.users]
        fixed = tuple(value.fixed_needs)
        if value.producer is None:
            for user in users:
                self.network.add_costs(
                    user.variable, self._costs(value, (value.layout,), user.layouts)[0][user.numbers]
                )
            return
        source = LayoutEnd.of_tensor(value.producer, self.op_layouts)
        if len(users) + len(fixed) > 1:
            layouts = dict.fromkeys((*source.layouts, *(layout for user in users for layout in user.layouts), *fixed))
            variable = self.network.add_variable(np.zeros(len(layouts)))
            home = self.shared[number] = LayoutEnd.of(variable, tuple(layouts))
            self._connect(value, source, home)
            source = home
        for user in users:
            self._connect(value, source, user)
        if fixed:
            costs = self._costs(value, source.layouts, fixed).sum(axis=1)
            self.network.add_costs(source.variable, costs[source.numbers])

    def _connect(self, value: GraphValue, source: LayoutEnd, target: LayoutEnd) -> None:
        table = self._costs(value, source.layouts, target.layouts)
        self.network.add_table(source.variable, target.variable, table[np.ix_(source.numbers, target.numbers)])

    def _costs(self, value: GraphValue, sources: Sequence[Layout], targets: Sequence[Layout]) -> Table:
        return value.times * self.table(value, sources, targets)
