"""Slots of a tensor's dims that digits can fill; a sharding is the digit in each slot.

A dim of 16 elements that is sharded along digits of sizes 2 and 2 is a sequence of 2 x 2 x 4 elements: two slots, and
the rest. In the source and in the target the digits fill the slots of a dim from its major end. In between, any slot
may be empty: a device then has several separate ranges of the dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sdy.model.numbered_digits import DigitTuple

EMPTY = -1

Filling = tuple[int, ...]  # the digit in each slot, or EMPTY


@dataclass(frozen=True, slots=True)
class DimSlots:
    """The slots of a tensor, dim by dim: the number of shards of each, and the first slot of each dim.

    `starts` ends with the number of slots.
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
