"""Which stretches of a sequence come several times in a row, such as the layers of a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdy.partitioner.layers.repetition import periodic_parts

MIN_ROWS_SAVED = 24  # rows that folding must save to be worth its own row


@dataclass(frozen=True, slots=True)
class Repeat:
    """`count` times the same `period` items, from `start` on."""

    start: int
    period: int
    count: int

    @property
    def end(self) -> int:
        """Where what follows begins."""
        return self.start + self.period * self.count


def repeats_in(items: Sequence[object]) -> list[Repeat]:
    """Stretches that come twice or more, in order, none over another: what covers most first, of those the shortest.

    >>> repeats_in("-" + "abcdefghijklmnopqrstuvwxyz" * 3)
    [Repeat(start=1, period=26, count=3)]
    """
    chosen: list[Repeat] = []
    for repeat in sorted(_candidates(_numbered(items)), key=lambda each: (each.start - each.end, each.period)):
        if all(repeat.end <= other.start or other.end <= repeat.start for other in chosen):
            chosen.append(repeat)
    return sorted(chosen, key=lambda each: each.start)


def _numbered(items: Sequence[object]) -> NDArray[np.int64]:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(item, len(numbers)) for item in items], dtype=np.int64)


def _candidates(items: NDArray[np.int64]) -> Iterator[Repeat]:
    """Of each period, the longest stretches in which every item is the one a period later."""
    for period in range(2, len(items) // 2 + 1):
        for part in periodic_parts(items, period):
            count = (part.end - part.start) // period
            if period * (count - 1) >= MIN_ROWS_SAVED:
                yield Repeat(part.start, period, count)
