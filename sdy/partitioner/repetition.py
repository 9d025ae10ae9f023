"""Find runs of a sequence that repeat several times in a row, as the layers of a network do.

    0 1 [2 3 4 5] [2 3 4 5] [2 3 4 5] 2 3 9      start 2, length 4, three times

A part with period 4 can be split into repetitions at four positions; the caller chooses one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import eq

WINDOW = 8  # entries that must be equal for a period to be tried
MOST_PERIODS = 8  # periods that are tried
LEAST_COUNT = 3


@dataclass(frozen=True, slots=True)
class Periodic:
    """The part `start:end` of a sequence, in which each entry equals the one `period` before it."""

    start: int
    end: int
    period: int

    @property
    def saved(self) -> int:
        """The number of entries saved by keeping one repetition."""
        return self.end - self.start - self.period


def longest_periodic(entries: Sequence[int], least_period: int) -> Periodic | None:
    """Return the periodic part of at least LEAST_COUNT periods that saves most entries; None if there is none."""
    found = (part for period in likely_periods(entries, least_period) for part in periodic_parts(entries, period))
    long_enough = (part for part in found if part.end - part.start >= LEAST_COUNT * part.period)
    return max(long_enough, key=lambda part: part.saved, default=None)


def periodic_parts(entries: Sequence[int], period: int) -> Iterator[Periodic]:
    """Yield the maximal parts of a sequence with this period, each longer than one period."""
    start = 0
    for is_same, run in groupby(map(eq, entries[period:], entries)):
        length = len(list(run))
        if is_same:
            yield Periodic(start, start + length + period, period)
        start += length


def likely_periods(
    entries: Sequence[int], least: int, window_size: int = WINDOW, most: int = MOST_PERIODS
) -> list[int]:
    """Return up to `most` distances at which windows of entries repeat, the most frequent first."""
    found = Counter[int]()
    last: dict[tuple[int, ...], int] = {}
    for position, window in enumerate(zip(*(entries[offset:] for offset in range(window_size)), strict=False)):
        distance = position - last.get(window, position)
        if distance >= least:
            found[distance] += 1
        last[window] = position
    return [period for period, _ in found.most_common(most)]
