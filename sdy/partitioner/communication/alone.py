"""What it changes to run one node otherwise, and no other node: found out once for each layout of each of its tensors.

Many runs of a node differ in one tensor only, and what a value costs goes by how the node has that value.
"""

from __future__ import annotations

from collections.abc import Callable

from sdy.partitioner.communication.layout import Layout
from sdy.partitioner.communication.node import Run
from sdy.partitioner.communication.state import Move, State


class Alone:
    """The changes of one node in a state, which stays as it is meanwhile."""

    def __init__(self, state: State, number: int) -> None:
        self._state = state
        self._number = number
        values = state.graph.nodes[number].values
        self._places = {value: [place for place, each in enumerate(values) if each == value] for value in values}
        self._costs: dict[tuple[int, tuple[Layout, ...]], float] = {}
        self._least: dict[tuple[int, tuple[Layout, ...]], float] = {}

    def change(self, run: Run) -> float:
        """As `State.change`."""
        return self._sum(run, self._costs, self._state.cost) + self._state.held_change({self._number: run})

    def least_change(self, run: Run) -> float:
        """Bytes that the run adds at least. Quick: no transfer is worked out."""
        return self._sum(run, self._least, self._state.least_cost)

    def _sum(
        self,
        run: Run,
        known: dict[tuple[int, tuple[Layout, ...]], float],
        cost: Callable[[int, Move], float],
    ) -> float:
        added, move = 0.0, {self._number: run}
        for value, places in self._places.items():
            key = value, tuple([run.layouts[place] for place in places])
            if key not in known:
                known[key] = cost(value, move) - self._state.costs[value]
            added += known[key]
        return added
