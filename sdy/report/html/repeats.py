"""Finds ranges of a sequence that repeat several times in a row, such as the layers of a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sdy.partitioner.layers.repetition import likely_periods, periodic_parts

MIN_ROWS_SAVED = 24  # the least number of rows that a fold must hide
LEAST_PERIOD, MOST_PERIODS = 2, 64  # of the periods that are tried


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


def _numbered(items: Sequence[object]) -> list[int]:
    numbers: dict[object, int] = {}
    return [numbers.setdefault(item, len(numbers)) for item in items]


def _candidates(items: Sequence[int]) -> Iterator[Repeat]:
    """Yield, for each likely period, the longest ranges in which every item equals the item one period later."""
    periods = (max(LEAST_PERIOD, period) for period in likely_periods(items, 1, MIN_ROWS_SAVED, MOST_PERIODS))
    for period in dict.fromkeys(periods):
        for part in periodic_parts(items, period):
            count = (part.end - part.start) // period
            if period * (count - 1) >= MIN_ROWS_SAVED:
                yield Repeat(part.start, period, count)
