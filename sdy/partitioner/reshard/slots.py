"""Where digits can cut: the slots of a tensor's dims, and a sharding as what stands in each slot.

A dim of 16 elements that is cut by digits of 2 and 2 is a row of 2 x 2 x 4 elements: two slots, and the rest. In the
source and in the target the digits fill the slots of a dim from its major end. In between any slot may be empty: then
a device has several separate stretches of the dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sdy.partitioner.reshard.digits import Cut

EMPTY = -1

Filling = tuple[int, ...]  # the digit in each slot, or EMPTY


@dataclass(frozen=True, slots=True)
class Slots:
    """All slots of a tensor, dim after dim: how many pieces each makes; the first slot of each dim, and of no dim."""

    sizes: tuple[int, ...]
    starts: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Dims of the tensor."""
        return len(self.starts) - 1

    def of_dim(self, dim: int) -> range:
        """The slots of a dim, major first."""
        return range(self.starts[dim], self.starts[dim + 1])

    def pieces(self, dim: int) -> int:
        """Into how many pieces the slots of a dim cut it."""
        return prod(self.sizes[slot] for slot in self.of_dim(dim))

    def filled(self, cuts: Sequence[Cut]) -> Filling:
        """The slots with the digits of one cut per dim, from the major end of each dim."""
        filling = [EMPTY] * len(self.sizes)
        for dim, cut in enumerate(cuts):
            filling[self.starts[dim] : self.starts[dim] + len(cut)] = cut
        return tuple(filling)


def common_slots(source: Sequence[Cut], target: Sequence[Cut], sizes: Sequence[int]) -> Slots | None:
    """The slots for both ends, `sizes` being those of digits; None where pieces of a dim do not fit into one another.

    >>> common_slots([(0, 1)], [(1,)], [2, 2])
    Slots(sizes=(2, 2), starts=(0, 2))
    >>> common_slots([(0, 1)], [(1,)], [2, 3]) is None
    True
    """
    slots: list[int] = []
    starts = [0]
    for cuts in zip(source, target, strict=True):
        shorter, longer = sorted(([sizes[digit] for digit in cut] for cut in cuts), key=len)
        if longer[: len(shorter)] != shorter:
            return None
        slots += longer
        starts.append(len(slots))
    return Slots(tuple(slots), tuple(starts))
