"""Search for the cheapest moves that resolve all chains: the fewest bytes received, collectives, and bytes held.

An A* search. A state is a filling of the slots; states with the same kinds of chains are equivalent. The lower bound
counts the elements that some device must receive: those of its target shard that it does not have yet.

    b  elements on a device after the last step;   X  shards along slots that hold a digit and must become empty

    a slot holds a digit and must hold another one    b             some device has no element of its target shard
    otherwise                                         b (1 - 1/X)   reached by an all-to-all and an all-gather

So only conflicts need search. One permute resolves all of them, and sends a shard of the current size. Moves that can
come before it are slices, also by digits that the target does not use, which make the shard smaller; all-to-alls, which
may resolve some of the conflicts for less; gathers, which may save a step. A permute is always possible, so a solution
always exists, and never costs twice the bound. No shard is larger than the larger one of source and target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from heapq import heappop, heappush
from typing import NamedTuple

from sdy.partitioner.reshard.chains import (
    ChainKind,
    Filling,
    SlotProblem,
    canonical_problem,
)
from sdy.partitioner.reshard.slot_moves import SlotFacts, SlotMove, moves_without_conflict, next_moves, required_slices

MAX_STATES = 2000  # visited in one search; then the best solution so far is returned


class _Node(NamedTuple):
    """A state in the queue, ordered by its bound, then by the sizes of all shards, `held`, and by `number`."""

    least_total: int
    least_steps: int
    held: int
    number: int
    paid: int
    steps: int
    moves: tuple[SlotMove, ...]
    filling: Filling
    is_done: bool


@lru_cache(maxsize=4096)
def cheapest_moves(kinds: tuple[ChainKind, ...]) -> tuple[SlotMove, ...]:
    """Return the moves that resolve chains of these kinds, on slots and digits as numbered by `canonical_problem`."""
    return _MoveSearch(canonical_problem(kinds)).run()


class _MoveSearch:
    """A best-first search from one filling to another."""

    def __init__(self, problem: SlotProblem) -> None:
        self._problem = problem
        self._facts = SlotFacts(problem)
        self._queue: list[_Node] = []
        self._number = 0

    def run(self) -> tuple[SlotMove, ...]:
        """Return the cheapest moves."""
        self._push(0, 0, (), self._problem.filling)
        seen: set[tuple[object, ...]] = set()
        best_done: _Node | None = None
        while True:
            node = heappop(self._queue)
            if node.is_done:
                return node.moves
            chains = self._facts.chains(node.filling)
            state = (tuple(chain.kind for chain in chains), self._facts.unused_sizes(node.filling))
            if state in seen:
                continue
            seen.add(state)
            for price, steps, move in next_moves(self._facts, node.filling, chains):
                pushed = self._push(node.paid + price, node.steps + steps, (*node.moves, move), move.filling)
                if pushed.is_done and (best_done is None or pushed < best_done):
                    best_done = pushed
            if best_done is not None and len(seen) >= MAX_STATES:
                return best_done.moves

    def _push(self, paid: int, steps: int, moves: tuple[SlotMove, ...], filling: Filling) -> _Node:
        """Queue a state after its required slices; complete the solution if the state has no conflict."""
        facts = self._facts
        slices = required_slices(facts, filling)
        if slices:
            moves, filling = (*moves, *slices), slices[-1].filling
        self._number += 1
        if facts.has_conflict(filling):
            total, least_steps, is_done = paid + facts.target_shard_size, steps + 1, False
        else:
            rest = moves_without_conflict(facts, filling)
            total = paid + facts.target_shard_size - facts.target_shard_size // facts.gathered_count(filling)
            least_steps, moves, is_done = steps + len(rest), (*moves, *rest), True
        held = sum(facts.shard_size(move.filling) for move in moves)
        node = _Node(total, least_steps, held, self._number, paid, steps, moves, filling, is_done)
        heappush(self._queue, node)
        return node


def relevant_kinds(kinds: Sequence[ChainKind]) -> tuple[ChainKind, ...]:
    """Return the kinds without idle digits that cannot help; one helps only in place of another, in an empty slot."""
    if not any(kind.has_conflict for kind in kinds):
        return tuple(kind for kind in kinds if not kind.is_idle_digit)
    empty = Counter(kind.size for kind in kinds if kind.slot_count and not kind.ends_with_digit and not kind.is_ring)
    kept: list[ChainKind] = []
    for kind in kinds:
        if kind.is_idle_digit:
            if not empty[kind.size]:
                continue
            empty[kind.size] -= 1
        kept.append(kind)
    return tuple(kept)
