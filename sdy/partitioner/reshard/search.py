"""The cheapest way to undo all chains: first the fewest bytes that a device receives, then the fewest collectives.

An A* search. A state is a filling of the slots; states with the same chains are one. The bound that guides it is what
some device still lacks: elements that it is to have and has not. No sequence of collectives can do with less.

    b  elements on a device after the last step;   X  slots that hold a digit and want none

    a slot holds one digit and wants another one    b             some device has nothing of what it is to have
    otherwise                                       b (1 - 1/X)   and an all-to-all, then an all-gather, do with that

So only conflicts need search. One permute puts all of them right, at the price of the tile that a device has by then.
Before it come slices, also by digits that nobody wants, which make the tile smaller; all-to-alls, which may settle
part of the conflicts for less; gathers, which may save a step. One permute at once is always possible, so a sequence
is found in any case, and it never costs twice the bound. No tile is larger than the larger one of the two ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache
from heapq import heappop, heappush
from itertools import product
from math import prod
from typing import NamedTuple

from sdy.partitioner.reshard.chains import Chain, ChainKind, Ends, chains_of, renumbered
from sdy.partitioner.reshard.slots import EMPTY, Filling

MAX_STATES = 2000  # looked at in one search; then the best way so far is taken


class MoveKind(Enum):
    """What a move does with the digits."""

    SLICE = "put digits that were in no slot into empty ones"
    ALL_TO_ALL = "take digits to empty slots"
    PERMUTE = "put other digits into the same slots"
    GATHER = "take digits out"


class Move(NamedTuple):
    """A move, and what it leaves in the slots."""

    kind: MoveKind
    filling: Filling


class _Node(NamedTuple):
    """A state in the queue, the most promising first. `number` decides between equals."""

    least_total: int
    least_steps: int
    number: int
    paid: int
    steps: int
    moves: tuple[Move, ...]
    filling: Filling
    is_done: bool


@lru_cache(maxsize=4096)
def cheapest_moves(kinds: tuple[ChainKind, ...]) -> tuple[Move, ...]:
    """The moves that undo chains of these kinds, on slots and digits as `renumbered` numbers them."""
    return _Search(renumbered(kinds)).run()


class _Search:
    def __init__(self, ends: Ends) -> None:
        self._ends = ends
        self._wanted_slot = {digit: slot for slot, digit in enumerate(ends.wanted) if digit != EMPTY}
        self._whole = prod(ends.slot_sizes) ** 2  # elements of the tensor, so many that all prices are integers
        self._target_tile = self._whole // self._pieces(ends.wanted)
        self._largest_tile = max(self._target_tile, self._tile(ends.filling))
        self._queue: list[_Node] = []
        self._number = 0

    def run(self) -> tuple[Move, ...]:
        """The moves of the cheapest way."""
        self._push(0, 0, (), self._ends.filling)
        seen: set[tuple[object, ...]] = set()
        best_done: _Node | None = None
        while True:
            node = heappop(self._queue)
            if node.is_done:
                return node.moves
            chains = self._chains(node.filling)
            state = (tuple(chain.kind for chain in chains), self._unused_sizes(node.filling))
            if state in seen:
                continue
            seen.add(state)
            for paid, steps, moves, filling in self._next(node, chains):
                pushed = self._push(paid, steps, moves, filling)
                if pushed.is_done and (best_done is None or pushed < best_done):
                    best_done = pushed
            if best_done is not None and len(seen) >= MAX_STATES:
                return best_done.moves

    def _push(self, paid: int, steps: int, moves: tuple[Move, ...], filling: Filling) -> _Node:
        """Queue a state, cut by all digits whose slots are empty; where no conflict is left, the whole way."""
        moves, filling = self._settled(moves, filling)
        if self._has_conflict(filling):
            node = self._node(paid + self._target_tile, steps + 1, paid, steps, moves, filling, is_done=False)
        else:
            rest = self._without_conflict(filling)
            total = paid + self._target_tile - self._target_tile // self._pieces_to_undo(filling)
            node = self._node(total, steps + len(rest), paid, steps, (*moves, *rest), filling, is_done=True)
        heappush(self._queue, node)
        return node

    def _node(
        self,
        total: int,
        least_steps: int,
        paid: int,
        steps: int,
        moves: tuple[Move, ...],
        filling: Filling,
        *,
        is_done: bool,
    ) -> _Node:
        self._number += 1
        return _Node(total, least_steps, self._number, paid, steps, moves, filling, is_done)

    # What holds in a state

    def _chains(self, filling: Filling) -> list[Chain]:
        return chains_of(Ends(filling, self._ends.wanted, self._ends.slot_sizes, self._ends.digit_sizes))

    def _pieces(self, filling: Filling) -> int:
        return prod(size for size, digit in zip(self._ends.slot_sizes, filling, strict=True) if digit != EMPTY)

    def _tile(self, filling: Filling) -> int:
        return self._whole // self._pieces(filling)

    def _unused_sizes(self, filling: Filling) -> tuple[int, ...]:
        """The sizes of slots that are empty and want nothing."""
        slots = zip(self._ends.slot_sizes, filling, self._ends.wanted, strict=True)
        return tuple(sorted(size for size, digit, wanted in slots if digit == wanted == EMPTY))

    def _has_conflict(self, filling: Filling) -> bool:
        return any(EMPTY != digit != wanted != EMPTY for digit, wanted in zip(filling, self._ends.wanted, strict=True))

    def _pieces_to_undo(self, filling: Filling) -> int:
        slots = zip(self._ends.slot_sizes, filling, self._ends.wanted, strict=True)
        return prod(size for size, digit, wanted in slots if digit != EMPTY == wanted)

    def _movable(self, filling: Filling) -> list[int]:
        """The digits in a slot whose own slot is empty."""
        return [
            digit
            for digit in filling
            if digit != EMPTY and filling[slot := self._wanted_slot.get(digit, EMPTY)] == EMPTY and slot != EMPTY
        ]

    # Moves

    def _settled(self, moves: tuple[Move, ...], filling: Filling) -> tuple[tuple[Move, ...], Filling]:
        """Cut by every digit in no slot whose own slot is empty, each by a slice."""
        held = set(filling)
        for slot, digit in enumerate(self._ends.wanted):
            if digit != EMPTY and filling[slot] == EMPTY and digit not in held:
                filling = _replaced(filling, {slot: digit})
                moves = (*moves, Move(MoveKind.SLICE, filling))
        return moves, filling

    def _without_conflict(self, filling: Filling) -> list[Move]:
        """One all-to-all and one all-gather, as far as needed, from a state without conflicts."""
        moves: list[Move] = []
        movable = self._movable(filling)
        if movable:
            filling = self._moved(filling, movable)
            moves.append(Move(MoveKind.ALL_TO_ALL, filling))
        if filling != self._ends.wanted:
            moves.append(Move(MoveKind.GATHER, self._ends.wanted))
        return moves

    def _moved(self, filling: Filling, digits: Sequence[int]) -> Filling:
        changes = {filling.index(digit): EMPTY for digit in digits}
        return _replaced(filling, {**changes, **{self._wanted_slot[digit]: digit for digit in digits}})

    def _next(self, node: _Node, chains: Sequence[Chain]) -> Iterator[tuple[int, int, tuple[Move, ...], Filling]]:
        """What can follow: price and steps so far, the moves, and the state."""
        tile = self._tile(node.filling)
        for filling in self._slices(node.filling, chains):
            yield node.paid, node.steps, (*node.moves, Move(MoveKind.SLICE, filling)), filling
        dropped = {digit for digit in node.filling if digit not in self._wanted_slot}
        for digits in _choices(chains, dropped):
            filling = _replaced(node.filling, {node.filling.index(digit): EMPTY for digit in digits})
            gathered = self._tile(filling)
            if gathered <= self._largest_tile:
                yield (
                    node.paid + gathered - tile,
                    node.steps + 1,
                    (*node.moves, Move(MoveKind.GATHER, filling)),
                    filling,
                )
        for digits in _choices(chains, set(self._movable(node.filling))):
            filling = self._moved(node.filling, digits)
            count = prod(self._ends.digit_sizes[digit] for digit in digits)
            move = Move(MoveKind.ALL_TO_ALL, filling)
            yield node.paid + tile - tile // count, node.steps + 1, (*node.moves, move), filling
        for filling in self._permutes(node.filling):
            yield node.paid + tile, node.steps + 1, (*node.moves, Move(MoveKind.PERMUTE, filling)), filling

    def _slices(self, filling: Filling, chains: Sequence[Chain]) -> Iterator[Filling]:
        """Cut by one digit in no slot, in a slot that is not its own: one of each kind of digit, and of slot."""
        digits = {chain.kind: chain.digits[0] for chain in chains if chain.kind.starts_with_digit}
        slots: dict[ChainKind | int, int] = {}
        for chain in chains:
            if chain.slots and filling[chain.slots[-1]] == EMPTY:
                slots[chain.kind] = chain.slots[-1]
        for slot, (digit, wanted) in enumerate(zip(filling, self._ends.wanted, strict=True)):
            if digit == wanted == EMPTY:
                slots[self._ends.slot_sizes[slot]] = slot
        for digit, slot in product(digits.values(), slots.values()):
            if self._ends.digit_sizes[digit] == self._ends.slot_sizes[slot]:
                yield _replaced(filling, {slot: digit})

    def _permutes(self, filling: Filling) -> Iterator[Filling]:
        """Every filled slot gets the digit it wants. What fills the others will move later, or be gathered."""
        for moves_later in (True, False):
            after = self._permuted(filling, moves_later=moves_later)
            if after != filling:
                yield after

    def _permuted(self, filling: Filling, *, moves_later: bool) -> Filling:
        slots = [slot for slot, digit in enumerate(filling) if digit != EMPTY]
        after = {slot: self._ends.wanted[slot] for slot in slots if self._ends.wanted[slot] != EMPTY}
        spare = [digit for digit in range(len(self._ends.digit_sizes)) if digit not in after.values()]
        for slot in slots:
            if slot in after:
                continue
            fitting = [digit for digit in spare if self._ends.digit_sizes[digit] == self._ends.slot_sizes[slot]]
            after[slot] = min(
                fitting,
                key=lambda digit, slot=slot: ((digit in self._wanted_slot) != moves_later, digit != filling[slot]),
            )
            spare.remove(after[slot])
        return _replaced(filling, after)


def _choices(chains: Sequence[Chain], candidates: set[int]) -> Iterator[list[int]]:
    """Every choice of candidates, which are last in their chains, up to which ones of a kind of chain they are."""
    by_kind: dict[ChainKind, list[int]] = {}
    for chain in chains:
        if chain.digits and chain.digits[-1] in candidates:
            by_kind.setdefault(chain.kind, []).append(chain.digits[-1])
    for counts in product(*(range(len(digits) + 1) for digits in by_kind.values())):
        if any(counts):
            yield [digit for count, digits in zip(counts, by_kind.values(), strict=True) for digit in digits[:count]]


def _replaced(filling: Filling, changes: dict[int, int]) -> Filling:
    return tuple(changes.get(slot, digit) for slot, digit in enumerate(filling))


def relevant(kinds: Sequence[ChainKind]) -> tuple[ChainKind, ...]:
    """Without the loose digits that have nothing to do: they only ever stand in for others in slots that are empty."""
    if not any(kind.has_conflict for kind in kinds):
        return tuple(kind for kind in kinds if not kind.is_loose_digit)
    empty = Counter(kind.size for kind in kinds if kind.slot_count and not kind.ends_with_digit and not kind.is_ring)
    kept: list[ChainKind] = []
    for kind in kinds:
        if kind.is_loose_digit:
            if not empty[kind.size]:
                continue
            empty[kind.size] -= 1
        kept.append(kind)
    return tuple(kept)
