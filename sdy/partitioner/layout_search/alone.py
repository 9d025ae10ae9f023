"""What it changes to run one node otherwise, and no other node: found out once for each layout of each of its tensors.

Many runs of a node differ in one tensor only, and what a value costs goes by how the node has that value.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from sdy.partitioner.layout_search.layout import Layout
from sdy.partitioner.layout_search.node import Run
from sdy.partitioner.layout_search.state import Needs, State

Cost = Callable[[int, Layout, Needs], float]  # of a value, by the layout that it is given in and those that are wanted


class Alone:
    """The changes of one node in a state, which stays as it is meanwhile."""

    def __init__(self, state: State, number: int) -> None:
        self._state = state
        self._number = number
        self._values = [_Value(state, number, value) for value in dict.fromkeys(state.graph.nodes[number].values)]

    def change(self, run: Run) -> float:
        """As `State.change`."""
        sent = sum([value.added(run, value.costs, self._state.cost_between) for value in self._values])
        return sent + self._state.held_change({self._number: run})

    def least_change(self, run: Run) -> float:
        """Bytes that the run adds at least. Quick: no transfer is worked out."""
        return sum([value.added(run, value.least, self._state.least_cost_between) for value in self._values])


class _Value:
    """A value that the node reads, makes, or both: what it costs by the layouts that the node has it in."""

    def __init__(self, state: State, node: int, value: int) -> None:
        found = state.graph.values[value]
        self._number = value
        self._cost = state.costs[value]
        self._at = itemgetter(*{end.place for end in found.ends if end.node == node})
        self._made_at = None if found.maker is None or found.maker.node != node else found.maker.place
        self._read_at = [end.place for end in found.readers if end.node == node]
        self._layout = state.layout(value)
        self._needs = state.needs_elsewhere(value, node)
        self.costs: dict[object, float] = {}
        self.least: dict[object, float] = {}

    def added(self, run: Run, known: dict[object, float], cost: Cost) -> float:
        """What it costs more than now if the node is run like this; `known` is what `cost` gave before."""
        key = self._at(run.layouts)
        added = known.get(key)
        if added is None:
            layout = self._layout if self._made_at is None else run.layouts[self._made_at]
            needs = self._needs.union([run.layouts[place] for place in self._read_at])
            added = known[key] = cost(self._number, layout, needs) - self._cost
        return added
