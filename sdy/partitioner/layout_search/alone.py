"""Compute the change of cost if a single node changes, with a cache per tensor of the node.

Many op layouts of a node differ in one tensor only, and the cost of a value depends only on the layouts that the node
requires for that value.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from sdy.partitioner.layout_search.deliveries import Needs
from sdy.partitioner.layout_search.layout import Layout
from sdy.partitioner.layout_search.node import OpLayout
from sdy.partitioner.layout_search.state import SearchState

# The cost of a value, by the layout that its producer yields and those that its users require.
Cost = Callable[[int, Layout, Needs], float]


class SingleNodeChange:
    """The changes of cost by one node, in a state that does not change meanwhile."""

    def __init__(self, state: SearchState, number: int) -> None:
        self._state = state
        self._number = number
        self._values = [_ValueChange(state, number, value) for value in dict.fromkeys(state.graph.nodes[number].values)]

    def change(self, op_layout: OpLayout) -> float:
        """Return the same as `SearchState.change` for a move of this node only."""
        sent = sum([value.added(op_layout, value.costs, self._state.cost_between) for value in self._values])
        return sent + self._state.resources.held_change({self._number: op_layout})

    def least_change(self, op_layout: OpLayout) -> float:
        """Return a lower bound of `change`. Fast: no transfer is computed."""
        return sum([value.added(op_layout, value.least, self._state.least_cost_between) for value in self._values])


class _ValueChange:
    """A value that the node reads or produces, with its costs by the layouts that the node uses for it."""

    def __init__(self, state: SearchState, node: int, value: int) -> None:
        found = state.graph.values[value]
        self._number = value
        self._cost = state.costs[value]
        self._layouts_of = itemgetter(*{end.position for end in found.ends if end.node == node})
        self._result_index = None if found.producer is None or found.producer.node != node else found.producer.position
        self._operand_indices = [end.position for end in found.users if end.node == node]
        self._layout = state.layout(value)
        self._needs = state.needs_elsewhere(value, node)
        self.costs: dict[object, float] = {}
        self.least: dict[object, float] = {}

    def added(self, op_layout: OpLayout, known: dict[object, float], cost: Cost) -> float:
        """Return the change of its cost if the node has this op layout; `known` caches results of `cost`."""
        key = self._layouts_of(op_layout.layouts)
        added = known.get(key)
        if added is None:
            layout = self._layout if self._result_index is None else op_layout.layouts[self._result_index]
            needs = self._needs.union([op_layout.layouts[index] for index in self._operand_indices])
            added = known[key] = cost(self._number, layout, needs) - self._cost
        return added
