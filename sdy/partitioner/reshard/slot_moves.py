"""Moves of digits between slots, and the moves that may follow a filling in the search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import product
from math import prod
from typing import NamedTuple

from sdy.partitioner.reshard.chains import ChainKind, DigitChain
from sdy.partitioner.reshard.slot_facts import SlotFacts, replaced
from sdy.partitioner.reshard.slots import EMPTY, Filling


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
