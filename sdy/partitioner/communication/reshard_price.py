"""What a reshard costs, quickly: the price of a plain sequence of collectives, found without search.

Cut where that is free, move what can be moved by all-to-alls, let one permute put right what is in the wrong order,
gather the rest. Whoever does the reshard may do it in a better way.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations
from math import prod

from sdy.partitioner.communication.layout import Cut, Dims, Sizes, used

MOST_ORDERED = 3  # dims that are taken in every order; more are taken as they come


@lru_cache(maxsize=65536)
def reshard_price(source: Dims, target: Dims, sizes: Sizes) -> tuple[float, int]:
    """What each device receives, as a multiple of its shard before, and the number of collectives."""
    dims = [pair for pair in zip(source, target, strict=True) if any(pair)]
    orders = permutations(dims) if len(dims) <= MOST_ORDERED else (dims,)
    return min(
        _Run([own for own, _ in order], tuple(wanted for _, wanted in order), sizes, permutes).price()
        for order in orders
        for permutes in (True, False)
    )


class _Run:
    """One run through the steps; `permutes`: whether there may be a permute."""

    def __init__(self, source: list[Cut], target: Dims, sizes: Sizes, permutes: bool) -> None:
        self._now = source
        self._target = target
        self._size = 1.0
        self._sizes = sizes
        self._permutes = permutes
        self._sent = 0.0
        self._steps = 0

    def price(self) -> tuple[float, int]:
        while True:
            self._slice()
            if tuple(self._now) == self._target:
                return self._sent, self._steps
            if not self._move() and not self._permute():
                self._gather()

    def _common(self, dim: int) -> int:
        """How many atoms of a dim are right, from the major end."""
        count = 0
        for own, wanted in zip(self._now[dim], self._target[dim], strict=False):
            if own != wanted:
                break
            count += 1
        return count

    def _wrong(self, dim: int) -> Cut:
        return self._now[dim][self._common(dim) :]

    def _slice(self) -> None:
        taken = used(tuple(self._now))
        for dim, wanted in enumerate(self._target):
            while not self._wrong(dim) and len(self._now[dim]) < len(wanted):
                atom = wanted[len(self._now[dim])]
                if atom in taken:
                    break
                taken.add(atom)
                self._now[dim] += (atom,)
                self._size /= self._sizes[atom]

    def _move(self) -> bool:
        """One all-to-all of the minor atoms of a dim to the dim that wants them next."""
        for source in range(len(self._now)):
            wrong = self._wrong(source)
            for start in range(len(wrong)):
                moved = wrong[start:]
                for dim, wanted in enumerate(self._target):
                    place = len(self._now[dim])
                    if dim != source and not self._wrong(dim) and wanted[place : place + len(moved)] == moved:
                        self._now[source] = self._now[source][: -len(moved)]
                        self._now[dim] += moved
                        self._pay(self._size, self._count(moved))
                        return True
        return False

    def _permute(self) -> bool:
        """Give atoms other places, where pieces are as large: once, and only where that puts some right."""
        if not self._permutes:
            return False
        self._permutes = False
        renamed: dict[int, int] = {}
        for dim, wanted in enumerate(self._target):
            start = self._common(dim)
            for own, want in zip(self._now[dim][start:], wanted[start:], strict=False):
                if own == want or self._sizes[own] != self._sizes[want]:
                    break
                if own in renamed or want in renamed:
                    break
                renamed |= {own: want, want: own}
        if not renamed:
            return False
        self._now = [tuple(renamed.get(atom, atom) for atom in cut) for cut in self._now]
        self._sent += self._size
        self._steps += 1
        return True

    def _gather(self) -> None:
        """Undo cuts that are wrong: those that are wanted nowhere, or where there are none such, one dim's."""
        wanted = used(self._target)
        wrong = [dim for dim in range(len(self._now)) if self._wrong(dim)]
        useless = [dim for dim in wrong if self._wrong(dim)[-1] not in wanted]
        gathered: Cut = ()
        for dim in useless or wrong[:1]:
            gathered += self._wrong(dim)
            self._now[dim] = self._now[dim][: self._common(dim)]
        self._size *= self._count(gathered)
        self._pay(self._size, self._count(gathered))

    def _count(self, cut: Cut) -> int:
        return prod(self._sizes[atom] for atom in cut)

    def _pay(self, size: float, group: int) -> None:
        """An all-gather or all-to-all, whose result has `size`."""
        self._sent += (group - 1) / group * size
        self._steps += 1
