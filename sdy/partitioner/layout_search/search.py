"""A local search: change the assignments of ops, starting from those of propagation, while that saves bytes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from sdy.partitioner.layout_search.candidates import SingleNodeChange, candidates
from sdy.partitioner.layout_search.moves import EPSILON, Grow, delayed, flooded, single, tolerant
from sdy.partitioner.layout_search.node import OpLayout
from sdy.partitioner.layout_search.state import NO_MOVE, LayoutMove, SearchState, Sent

MAX_ROUNDS = 8  # the search ends earlier if a round saves nothing
MORE = 1.01  # of the savings of a smaller move, for a larger one to be better
MAX_STARTS = 3  # op layouts of a node from which larger moves are tried


class Saving(NamedTuple):
    """A move that was applied, the node it started at, and the communication that it saved each device."""

    node: int
    move: LayoutMove
    saved: Sent


class MoveStart(NamedTuple):
    """The start of the best move of a node: its new op layout, and the function that grows the move."""

    op_layout: OpLayout
    grow: Grow


def search(state: SearchState) -> list[Saving]:
    """Apply moves until no move saves anything; return these moves."""
    return _LayoutSearch(state).run()


class _LayoutSearch:
    """A search that reuses the result of a node for nodes with equal signatures, which only check it."""

    def __init__(self, state: SearchState) -> None:
        self._state = state
        first: Grow = delayed if state.patterns.delay else single
        self._growers = [first, *[flooded, tolerant] * state.patterns.recut]
        self._known: dict[Hashable, MoveStart | None] = {}

    def run(self) -> list[Saving]:
        savings: list[Saving] = []
        stale = set(range(len(self._state.graph.nodes)))
        for _ in range(MAX_ROUNDS):
            order = [number for number in _costly(self._state) if number in stale]
            for number in order:
                stale.discard(number)
                move = self._best_move(number)
                if move:
                    touched = self._state.touched(move)
                    before = self._state.sent(touched)
                    self._state.apply(move)
                    savings.append(Saving(number, move, before.minus(self._state.sent(touched))))
                    stale.update(end.node for value in touched for end in self._state.graph.values[value].ends)
            if not order:
                break
        return savings

    def _best_move(self, number: int) -> LayoutMove:
        """Return the best move that starts at one node; empty if none saves anything."""
        signature = _signature(self._state, number)
        if signature not in self._known:
            self._known[signature] = self._best_start(number)
        start = self._known[signature]
        if start is None:
            return NO_MOVE
        move = start.grow(self._state, number, start.op_layout)
        return move if self._state.change(move) < -EPSILON else NO_MOVE

    def _best_start(self, number: int) -> MoveStart | None:
        state, alone = self._state, SingleNodeChange(self._state, number)
        op_layouts = [
            each for each in candidates(state, number, alone) if not state.resources.exceeds_limits(number, each)
        ]
        found = sorted(((alone.change(each), each) for each in op_layouts), key=lambda found: found[0])
        best, least = None, -EPSILON
        for op_layout, grow in self._grown_from(number, [op_layout for _, op_layout in found]):
            change = state.change(grow(state, number, op_layout))
            if change < MORE * least:  # of moves that save as much, the first, which is smaller, leaves more to others
                best, least = MoveStart(op_layout, grow), change
        return best

    def _grown_from(self, number: int, op_layouts: Sequence[OpLayout]) -> Iterator[tuple[OpLayout, Grow]]:
        """Yield starts of moves. The op layouts are ordered by the cost of the move of the node alone."""
        for grow in self._growers:
            if grow is not tolerant:
                yield from ((op_layout, grow) for op_layout in op_layouts[:MAX_STARTS])
                continue
            # It is the slowest, and grows to the same move from most op layouts. Of those along batching dims, the best
            # is far down the list: all products of attention can be sharded so, but one alone is resharded at its ends.
            batched = (each for each in op_layouts if _is_batched(self._state, number, each))
            yield from ((each, grow) for each in dict.fromkeys((*op_layouts[:1], *islice(batched, 1))))


def _is_batched(state: SearchState, number: int, op_layout: OpLayout) -> bool:
    """Return whether a product is sharded along batching dims alone, by as many digits as now."""
    node, factors = state.graph.nodes[number], op_layout.assignment.factors
    used = sum(map(len, factors))
    batched = sum(len(factors[factor]) for factor in node.kind.batching_factors)
    return bool(node.flops) and 0 < used == batched >= sum(map(len, node.op_layout.assignment.factors))


def _costly(state: SearchState) -> list[int]:
    """Return the nodes with a value that costs something, the costliest first."""
    costs = [state.node_cost(number) for number in range(len(state.graph.nodes))]
    return sorted((number for number, cost in enumerate(costs) if cost > EPSILON), key=lambda number: -costs[number])


def _signature(state: SearchState, number: int) -> Hashable:
    """Return the properties of a node and its neighbours that its best moves depend on."""
    node = state.graph.nodes[number]
    tensors = (
        (state.layout(value), state.needs(value), found.tensor, found.times, found.is_free)
        for value in node.values
        for found in (state.graph.values[value],)
    )
    around = tuple(
        id(state.graph.nodes[end.node].kind) for value in node.values for end in state.graph.values[value].ends
    )
    return id(node.kind), node.op_layout.assignment, around, *tensors
