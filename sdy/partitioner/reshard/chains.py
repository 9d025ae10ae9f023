"""What separates one filling of slots from another: chains of digits, each of which wants the slot of the next.

    slot 0 holds a,     slot 1 holds b,     slot 2 is empty;     a wants slot 1, b wants slot 2
    chain: slot 0 - a - slot 1 - b - slot 2

A chain begins with a slot that no digit wants, or with a digit that is in no slot; it ends with a slot that is empty,
or with a digit that no slot wants. A ring has no ends. Two problems with the same kinds of chains are the same problem,
whatever the digits, slots and dims are called: this is what makes plans worth keeping.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sdy.partitioner.reshard.slots import EMPTY, Filling


class ChainKind(NamedTuple):
    """All that matters about a chain. Every digit and slot of a chain has the same `size`."""

    size: int
    slot_count: int
    starts_with_digit: bool
    ends_with_digit: bool
    is_ring: bool

    @property
    def is_loose_digit(self) -> bool:
        """A digit in no slot that no slot wants."""
        return self.slot_count == 0

    @property
    def has_conflict(self) -> bool:
        """Some slot holds one digit and wants another one."""
        bare_ends = (not self.starts_with_digit) + (not self.ends_with_digit)
        return self.is_ring or self.slot_count > bare_ends


class Chain(NamedTuple):
    """A chain with its slots and its digits, in order."""

    kind: ChainKind
    slots: tuple[int, ...]
    digits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ends:
    """Two fillings of the same slots, and the sizes of slots and digits. Digits in neither may help in between."""

    filling: Filling
    wanted: Filling
    slot_sizes: tuple[int, ...]
    digit_sizes: tuple[int, ...]


def chains_of(ends: Ends) -> list[Chain]:
    """The chains, by kind. Digits that stay where they are form none."""
    return sorted(_chains(ends), key=lambda chain: chain.kind)


def _chains(ends: Ends) -> Iterator[Chain]:
    wanted_slot = {digit: slot for slot, digit in enumerate(ends.wanted) if digit != EMPTY}
    held = {digit for digit in ends.filling if digit != EMPTY}
    seen: set[int] = set()
    for digit, size in enumerate(ends.digit_sizes):
        if digit not in held:
            yield _follow(ends, wanted_slot, digit, EMPTY, size, seen)
    for slot, size in enumerate(ends.slot_sizes):
        if ends.wanted[slot] == EMPTY and ends.filling[slot] != EMPTY:
            yield _follow(ends, wanted_slot, EMPTY, slot, size, seen)
    for slot, size in enumerate(ends.slot_sizes):
        if slot not in seen and EMPTY != ends.filling[slot] != ends.wanted[slot]:
            yield _follow(ends, wanted_slot, EMPTY, slot, size, seen)


def _follow(ends: Ends, wanted_slot: dict[int, int], digit: int, slot: int, size: int, seen: set[int]) -> Chain:
    """The chain from a digit, or from a slot; its slots are added to `seen`."""
    slots: list[int] = []
    digits: list[int] = []
    starts_with_digit, is_ring = digit != EMPTY, False
    if starts_with_digit:
        digits.append(digit)
        slot = wanted_slot.get(digit, EMPTY)
    while slot != EMPTY:
        if slot in seen:
            is_ring = True
            break
        seen.add(slot)
        slots.append(slot)
        digit = ends.filling[slot]
        if digit == EMPTY:
            break
        digits.append(digit)
        slot = wanted_slot.get(digit, EMPTY)
    ends_with_digit = slot == EMPTY
    return Chain(ChainKind(size, len(slots), starts_with_digit, ends_with_digit, is_ring), tuple(slots), tuple(digits))


def renumbered(kinds: Sequence[ChainKind]) -> Ends:
    """The ends that chains of these kinds lead between; slots and digits are numbered in the order of the chains.

    >>> ends = renumbered([ChainKind(2, 3, False, False, False)])
    >>> ends.filling, ends.wanted
    ((0, 1, -1), (-1, 0, 1))
    """
    filling: list[int] = []
    wanted: list[int] = []
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
            wanted += [digits[-1], *digits[:-1]]
        elif kind.slot_count:
            filling += [*digits[kind.starts_with_digit :], *([] if kind.ends_with_digit else [EMPTY])]
            wanted += [*([] if kind.starts_with_digit else [EMPTY]), *digits[: len(digits) - kind.ends_with_digit]]
    return Ends(tuple(filling), tuple(wanted), tuple(slot_sizes), tuple(digit_sizes))
