"""Moves of digits between slots, and the moves that may follow a filling in the search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import product
from math import prod
from typing import NamedTuple

from sdy.partitioner.reshard.chains import EMPTY, ChainKind, DigitChain, Filling, SlotProblem, chains_of


class MoveKind(Enum):
    """The effect of a move on the digits."""

    SLICE = "digits that are in no slot fill empty slots"
    ALL_TO_ALL = "digits move to empty slots"
    PERMUTE = "slots get other digits"
    GATHER = "digits leave their slots"


class SlotMove(NamedTuple):
    """A move, and the filling of the slots after it."""

    kind: MoveKind
    filling: Filling


class PricedMove(NamedTuple):
    """A move, the elements that a device receives by it, and the number of collectives, which is 0 for a slice."""

    price: int
    steps: int
    move: SlotMove


def required_slices(facts: SlotFacts, filling: Filling) -> list[SlotMove]:
    """Return slices that put each digit that is in no slot into its target slot if that is empty."""
    moves: list[SlotMove] = []
    held = set(filling)
    for slot, digit in enumerate(facts.problem.target):
        if digit != EMPTY and filling[slot] == EMPTY and digit not in held:
            filling = replaced(filling, {slot: digit})
            moves.append(SlotMove(MoveKind.SLICE, filling))
    return moves


def moves_without_conflict(facts: SlotFacts, filling: Filling) -> list[SlotMove]:
    """Return an all-to-all and an all-gather, as far as needed, from a filling without conflicts to the target."""
    moves: list[SlotMove] = []
    movable = facts.movable(filling)
    if movable:
        filling = facts.moved(filling, movable)
        moves.append(SlotMove(MoveKind.ALL_TO_ALL, filling))
    if filling != facts.problem.target:
        moves.append(SlotMove(MoveKind.GATHER, facts.problem.target))
    return moves


def next_moves(facts: SlotFacts, filling: Filling, chains: Sequence[DigitChain]) -> Iterator[PricedMove]:
    """Yield the moves that the search tries from a filling. `chains` are those of the filling."""
    shard_size = facts.shard_size(filling)
    for after in _slices(facts, filling, chains):
        yield PricedMove(0, 0, SlotMove(MoveKind.SLICE, after))
    surplus = {digit for digit in filling if digit not in facts.target_slots}
    for digits in _choices(chains, surplus):
        after = replaced(filling, {filling.index(digit): EMPTY for digit in digits})
        gathered = facts.shard_size(after)
        if gathered <= facts.largest_shard_size:
            yield PricedMove(gathered - shard_size, 1, SlotMove(MoveKind.GATHER, after))
    for digits in _choices(chains, set(facts.movable(filling))):
        count = prod(facts.problem.digit_sizes[digit] for digit in digits)
        move = SlotMove(MoveKind.ALL_TO_ALL, facts.moved(filling, digits))
        yield PricedMove(shard_size - shard_size // count, 1, move)
    for after in _permutes(facts, filling):
        yield PricedMove(shard_size, 1, SlotMove(MoveKind.PERMUTE, after))


def _slices(facts: SlotFacts, filling: Filling, chains: Sequence[DigitChain]) -> Iterator[Filling]:
    """Put a digit that is in no slot into a slot that is not its target: one for each kind of digit and of slot."""
    problem = facts.problem
    digits = {chain.kind: chain.digits[0] for chain in chains if chain.kind.starts_with_digit}
    slots: dict[ChainKind | int, int] = {}
    for chain in chains:
        if chain.slots and filling[chain.slots[-1]] == EMPTY:
            slots[chain.kind] = chain.slots[-1]
    for slot, (digit, target) in enumerate(zip(filling, problem.target, strict=True)):
        if digit == target == EMPTY:
            slots[problem.slot_sizes[slot]] = slot
    for digit, slot in product(digits.values(), slots.values()):
        if problem.digit_sizes[digit] == problem.slot_sizes[slot]:
            yield replaced(filling, {slot: digit})


def _permutes(facts: SlotFacts, filling: Filling) -> Iterator[Filling]:
    """Put the target digit into each filled slot; other filled slots get digits that move later, or are gathered."""
    for moves_later in (True, False):
        after = _permuted(facts, filling, moves_later=moves_later)
        if after != filling:
            yield after


def _permuted(facts: SlotFacts, filling: Filling, *, moves_later: bool) -> Filling:
    problem = facts.problem
    slots = [slot for slot, digit in enumerate(filling) if digit != EMPTY]
    after = {slot: problem.target[slot] for slot in slots if problem.target[slot] != EMPTY}
    spare = [digit for digit in range(len(problem.digit_sizes)) if digit not in after.values()]
    for slot in slots:
        if slot in after:
            continue
        fitting = [digit for digit in spare if problem.digit_sizes[digit] == problem.slot_sizes[slot]]
        after[slot] = min(
            fitting,
            key=lambda digit, slot=slot: ((digit in facts.target_slots) != moves_later, digit != filling[slot]),
        )
        spare.remove(after[slot])
    return replaced(filling, after)


def _choices(chains: Sequence[DigitChain], candidates: set[int]) -> Iterator[list[int]]:
    """Yield each choice of candidates that are last in their chains; chains of one kind are interchangeable."""
    by_kind: dict[ChainKind, list[int]] = {}
    for chain in chains:
        if chain.digits and chain.digits[-1] in candidates:
            by_kind.setdefault(chain.kind, []).append(chain.digits[-1])
    for counts in product(*(range(len(digits) + 1) for digits in by_kind.values())):
        if any(counts):
            yield [digit for count, digits in zip(counts, by_kind.values(), strict=True) for digit in digits[:count]]


class SlotFacts:
    """Facts about fillings of the slots of one problem.

    Shard sizes count the elements of a tensor so large that all prices are integers. `target_slots` maps each digit of
    the target to its slot.
    """

    def __init__(self, problem: SlotProblem) -> None:
        self.problem = problem
        self.target_slots = {digit: slot for slot, digit in enumerate(problem.target) if digit != EMPTY}
        self._global_size = prod(problem.slot_sizes) ** 2
        self.target_shard_size = self._global_size // self._shard_count(problem.target)
        self.largest_shard_size = max(self.target_shard_size, self.shard_size(problem.filling))

    def chains(self, filling: Filling) -> list[DigitChain]:
        """Return the chains that separate a filling from the target."""
        return chains_of(SlotProblem(filling, self.problem.target, self.problem.slot_sizes, self.problem.digit_sizes))

    def _shard_count(self, filling: Filling) -> int:
        return prod(size for size, digit in zip(self.problem.slot_sizes, filling, strict=True) if digit != EMPTY)

    def shard_size(self, filling: Filling) -> int:
        """Return the number of elements on each device."""
        return self._global_size // self._shard_count(filling)

    def unused_sizes(self, filling: Filling) -> tuple[int, ...]:
        """Return the sizes of slots that are empty and stay empty, sorted."""
        slots = zip(self.problem.slot_sizes, filling, self.problem.target, strict=True)
        return tuple(sorted(size for size, digit, target in slots if digit == target == EMPTY))

    def has_conflict(self, filling: Filling) -> bool:
        """Return whether some slot holds a digit and must hold another one."""
        return any(
            EMPTY != digit != target != EMPTY for digit, target in zip(filling, self.problem.target, strict=True)
        )

    def gathered_count(self, filling: Filling) -> int:
        """Return the number of shards along the slots that must become empty."""
        slots = zip(self.problem.slot_sizes, filling, self.problem.target, strict=True)
        return prod(size for size, digit, target in slots if digit != EMPTY == target)

    def movable(self, filling: Filling) -> list[int]:
        """Return the digits that are in another slot than their target slot, which is empty."""
        return [
            digit
            for digit in filling
            if digit != EMPTY and filling[slot := self.target_slots.get(digit, EMPTY)] == EMPTY and slot != EMPTY
        ]

    def moved(self, filling: Filling, digits: Sequence[int]) -> Filling:
        """Return the filling after digits have moved to their target slots."""
        changes = {filling.index(digit): EMPTY for digit in digits}
        return replaced(filling, {**changes, **{self.target_slots[digit]: digit for digit in digits}})


def replaced(filling: Filling, changes: dict[int, int]) -> Filling:
    """Return the filling with other digits in some slots."""
    return tuple(changes.get(slot, digit) for slot, digit in enumerate(filling))
