"""Finds ranges of a sequence that repeat several times in a row, such as the layers of a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdy.partitioner.layers.repetition import periodic_parts

MIN_ROWS_SAVED = 24  # the least number of rows that a fold must hide


@dataclass(frozen=True, slots=True)
class Repeat:
    """A range that starts at `start` and consists of `count` equal groups of `period` items."""

    start: int
    period: int
    count: int

    @property
    def end(self) -> int:
        """The index after the last item."""
        return self.start + self.period * self.count


def repeats_in(items: Sequence[object]) -> list[Repeat]:
    """Return disjoint repeats in order; of overlapping ones, the one that covers most, then the one with least period.

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
    """Yield, for each period, the longest ranges in which every item equals the item one period later."""
    for period in range(2, len(items) // 2 + 1):
        for part in periodic_parts(items, period):
            count = (part.end - part.start) // period
            if period * (count - 1) >= MIN_ROWS_SAVED:
                yield Repeat(part.start, period, count)
