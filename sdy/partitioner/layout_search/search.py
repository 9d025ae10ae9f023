"""The search: ops are run otherwise as long as fewer bytes are sent. A local search, from what propagation gave."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from sdy.partitioner.layout_search.alone import Alone
from sdy.partitioner.layout_search.candidates import candidates
from sdy.partitioner.layout_search.moves import EPSILON, Grow, as_it_is, delayed, flooded
from sdy.partitioner.layout_search.node import Run
from sdy.partitioner.layout_search.state import NO_MOVE, Move, Sent, State

MOST_ROUNDS = 8  # it ends before, where a round saves nothing
MOST_STARTS = 3  # of the assignments of a node that larger moves are tried from


@dataclass(frozen=True, slots=True)
class Saving:
    """A move that was made, the node it started at, and what it saved each device."""

    node: int
    move: Move
    saved: Sent


@dataclass(frozen=True, slots=True)
class Start:
    """What made the best move of a node: its new run, and how the move grew from there."""

    run: Run
    grow: Grow


def search(state: State) -> list[Saving]:
    """Make moves until none saves anything any more; these moves."""
    return _Search(state).run()


class _Search:
    """Nodes that look alike, with all their tensors, make like moves: what one has found, the others only check."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._grown = _ways_to_grow(state)
        self._known: dict[Hashable, Start | None] = {}

    def run(self) -> list[Saving]:
        savings: list[Saving] = []
        stale = set(range(len(self._state.graph.nodes)))
        for _ in range(MOST_ROUNDS):
            order = [number for number in _costly(self._state) if number in stale]
            for number in order:
                stale.discard(number)
                move = self._best_move(number)
                if move:
                    touched = self._state.touched(move)
                    before = self._state.sent(touched)
                    self._state.make(move)
                    savings.append(Saving(number, move, before.less(self._state.sent(touched))))
                    stale.update(end.node for value in touched for end in self._state.graph.values[value].ends)
            if not order:
                break
        return savings

    def _best_move(self, number: int) -> Move:
        """The best move that starts at one node; empty where none saves anything."""
        look = _look(self._state, number)
        if look not in self._known:
            self._known[look] = self._best_start(number)
        start = self._known[look]
        if start is None:
            return NO_MOVE
        move = start.grow(self._state, number, start.run)
        return move if self._state.change(move) < -EPSILON else NO_MOVE

    def _best_start(self, number: int) -> Start | None:
        state, alone = self._state, Alone(self._state, number)
        runs = [run for run in candidates(state, number, alone) if not state.is_too_much(number, run)]
        found = sorted(((alone.change(run), run) for run in runs), key=lambda found: found[0])[:MOST_STARTS]
        starts = [(change, Start(run, as_it_is)) for change, run in found[:1]]
        for _, run in found:
            for grow in self._grown:
                move = grow(state, number, run)
                if len(move) > 1:
                    starts.append((state.change(move), Start(run, grow)))
        change, best = min(starts, key=lambda found: found[0], default=(0.0, None))
        return best if change < -EPSILON else None


def _ways_to_grow(state: State) -> list[Grow]:
    return [grow for grow, is_on in ((delayed, state.patterns.delay), (flooded, state.patterns.recut)) if is_on]


def _costly(state: State) -> list[int]:
    """The nodes that touch a value that costs something, the costliest first."""
    costs: dict[int, float] = {}
    for number, node in enumerate(state.graph.nodes):
        cost = sum(state.costs[value] for value in {*node.values})
        if cost > EPSILON:
            costs[number] = cost
    return sorted(costs, key=lambda number: -costs[number])


def _look(state: State, number: int) -> Hashable:
    """What a node's own moves depend on, but for what lies behind its neighbours."""
    node = state.graph.nodes[number]
    tensors = (
        (state.layout(value), state.needs(value), found.tensor, found.times, found.is_free)
        for value in node.values
        for found in (state.graph.values[value],)
    )
    around = tuple(
        id(state.graph.nodes[end.node].kind) for value in node.values for end in state.graph.values[value].ends
    )
    return id(node.kind), node.run.assignment, around, *tensors
