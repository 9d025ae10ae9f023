"""Describe the difference between two fillings of slots as chains of digits that move to each other's slots.

    slot 0 holds a,     slot 1 holds b,     slot 2 is empty;     in the target, slot 1 holds a and slot 2 holds b
    chain: slot 0 - a - slot 1 - b - slot 2

A chain begins with a slot that is empty in the target, or with a digit that is in no slot; it ends with a slot that is
empty now, or with a digit that is in no slot of the target. A ring has no ends. Problems with the same kinds of chains
have the same solutions up to the numbers of digits, slots and dims, so solutions can be cached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from sdy.model.mesh_digits import DigitTuple


class ChainKind(NamedTuple):
    """The shape of a chain. All digits and slots of a chain have the same `size`."""

    size: int
    slot_count: int
    starts_with_digit: bool
    ends_with_digit: bool
    is_ring: bool

    @property
    def is_idle_digit(self) -> bool:
        """Return whether the chain is one digit, which is in no slot before or after."""
        return self.slot_count == 0

    @property
    def has_conflict(self) -> bool:
        """Return whether some slot holds a digit and must hold another one."""
        bare_ends = (not self.starts_with_digit) + (not self.ends_with_digit)
        return self.is_ring or self.slot_count > bare_ends


class DigitChain(NamedTuple):
    """A chain with its slots and its digits, in order."""

    kind: ChainKind
    slots: tuple[int, ...]
    digits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SlotProblem:
    """The current and the target filling of slots, and the sizes of slots and digits.

    Digits that are in neither filling may fill slots in between.
    """

    filling: Filling
    target: Filling
    slot_sizes: tuple[int, ...]
    digit_sizes: tuple[int, ...]


def chains_of(problem: SlotProblem) -> list[DigitChain]:
    """Return the chains, sorted by kind. A digit that stays in its slot is in no chain."""
    return sorted(_chains(problem), key=lambda chain: chain.kind)


def _chains(problem: SlotProblem) -> Iterator[DigitChain]:
    target_slots = {digit: slot for slot, digit in enumerate(problem.target) if digit != EMPTY}
    held = {digit for digit in problem.filling if digit != EMPTY}
    seen: set[int] = set()
    for digit, size in enumerate(problem.digit_sizes):
        if digit not in held:
            yield _follow(problem, target_slots, digit, EMPTY, size, seen)
    for slot, size in enumerate(problem.slot_sizes):
        if problem.target[slot] == EMPTY and problem.filling[slot] != EMPTY:
            yield _follow(problem, target_slots, EMPTY, slot, size, seen)
    for slot, size in enumerate(problem.slot_sizes):
        if slot not in seen and EMPTY != problem.filling[slot] != problem.target[slot]:
            yield _follow(problem, target_slots, EMPTY, slot, size, seen)


def _follow(
    problem: SlotProblem, target_slots: dict[int, int], digit: int, slot: int, size: int, seen: set[int]
) -> DigitChain:
    """Return the chain that begins with a digit, or with a slot, and add its slots to `seen`."""
    slots: list[int] = []
    digits: list[int] = []
    starts_with_digit, is_ring = digit != EMPTY, False
    if starts_with_digit:
        digits.append(digit)
        slot = target_slots.get(digit, EMPTY)
    while slot != EMPTY:
        if slot in seen:
            is_ring = True
            break
        seen.add(slot)
        slots.append(slot)
        digit = problem.filling[slot]
        if digit == EMPTY:
            break
        digits.append(digit)
        slot = target_slots.get(digit, EMPTY)
    ends_with_digit = slot == EMPTY
    kind = ChainKind(size, len(slots), starts_with_digit, ends_with_digit, is_ring)
    return DigitChain(kind, tuple(slots), tuple(digits))


def canonical_problem(kinds: Sequence[ChainKind]) -> SlotProblem:
    """Return the problem with chains of these kinds; slots and digits are numbered in the order of the chains.

    >>> problem = canonical_problem([ChainKind(2, 3, False, False, False)])
    >>> problem.filling, problem.target
    ((0, 1, -1), (-1, 0, 1))
    """
    filling: list[int] = []
    target: list[int] = []
    slot_sizes: list[int] = []
    digit_sizes: list[int] = []
    for kind in kinds:
        first = len(digit_sizes)
        count = kind.slot_count if kind.is_ring else kind.slot_count - 1 + kind.starts_with_digit + kind.ends_with_digit
        digits = list(range(first, first + count))
        digit_sizes += [kind.size] * count
        slot_sizes += [kind.size] * kind.slot_count
        if kind.is_ring:
            filling += digits
            target += [digits[-1], *digits[:-1]]
        elif kind.slot_count:
            filling += [*digits[kind.starts_with_digit :], *([] if kind.ends_with_digit else [EMPTY])]
            target += [*([] if kind.starts_with_digit else [EMPTY]), *digits[: len(digits) - kind.ends_with_digit]]
    return SlotProblem(tuple(filling), tuple(target), tuple(slot_sizes), tuple(digit_sizes))


EMPTY = -1

Filling = tuple[int, ...]  # the digit in each slot, or EMPTY


@dataclass(frozen=True, slots=True)
class DimSlots:
    """The slots of a tensor, dim by dim: the number of shards of each, and the first slot of each dim.

    `starts` ends with the number of slots. A dim of 16 elements that is sharded along digits of sizes 2 and 2 is a
    sequence of 2 x 2 x 4 elements: two slots, and the rest. In the source and in the target the digits fill the slots
    of a dim from its major end. In between, any slot may be empty: a device then has several ranges of the dim.
    """

    sizes: tuple[int, ...]
    starts: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Number of dims of the tensor."""
        return len(self.starts) - 1

    def of_dim(self, dim: int) -> range:
        """Return the slots of a dim, major first."""
        return range(self.starts[dim], self.starts[dim + 1])

    def shard_count(self, dim: int) -> int:
        """Return the number of shards of a dim if all its slots are filled."""
        return prod(self.sizes[slot] for slot in self.of_dim(dim))

    def filled(self, digits_per_dim: Sequence[DigitTuple]) -> Filling:
        """Return the filling with the digits of each dim, from the major end of the dim."""
        filling = [EMPTY] * len(self.sizes)
        for dim, digits in enumerate(digits_per_dim):
            filling[self.starts[dim] : self.starts[dim] + len(digits)] = digits
        return tuple(filling)


def common_slots(source: Sequence[DigitTuple], target: Sequence[DigitTuple], sizes: Sequence[int]) -> DimSlots | None:
    """Return slots for both shardings; None if the digit sizes of a dim do not begin with those of the other.

    `sizes` are those of the digits.

    >>> common_slots([(0, 1)], [(1,)], [2, 2])
    DimSlots(sizes=(2, 2), starts=(0, 2))
    >>> common_slots([(0, 1)], [(1,)], [2, 3]) is None
    True
    """
    slots: list[int] = []
    starts = [0]
    for per_end in zip(source, target, strict=True):
        shorter, longer = sorted(([sizes[digit] for digit in digits] for digits in per_end), key=len)
        if longer[: len(shorter)] != shorter:
            return None
        slots += longer
        starts.append(len(slots))
    return DimSlots(tuple(slots), tuple(starts))
