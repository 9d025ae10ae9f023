"""Stretches of a sequence that come several times in a row, as the layers of a network do.

    0 1 [2 3 4 5] [2 3 4 5] [2 3 4 5] 2 3 9      start 2, length 4, three times

Where the sequence has period 4, a repetition may start at any of four places; which one is best is for the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

WINDOW = 8  # entries that must be equal for a period to be tried
MOST_PERIODS = 8  # that are tried
LEAST_COUNT = 3


@dataclass(frozen=True, slots=True)
class Periodic:
    """A part of a sequence, from `start` to before `end`, in which each entry equals the one `period` before it."""

    start: int
    end: int
    period: int

    @property
    def saved(self) -> int:
        """How many entries are left to do away with, if each stretch but one goes."""
        return self.end - self.start - self.period


def longest_periodic(entries: Sequence[int], least_period: int) -> Periodic | None:
    """The periodic part that says most again, of at least three periods; None where there is none."""
    items, periods = np.array(entries, dtype=np.int64), _likely_periods(entries, least_period)
    found = (part for period in periods for part in periodic_parts(items, period))
    long_enough = (part for part in found if part.end - part.start >= LEAST_COUNT * part.period)
    return max(long_enough, key=lambda part: part.saved, default=None)


def periodic_parts(items: NDArray[np.int64], period: int) -> Iterator[Periodic]:
    """The longest parts of a sequence that have a period, each with more than one period of entries."""
    same = np.concatenate(([False], items[period:] == items[:-period], [False]))
    edges = np.flatnonzero(same[1:] != same[:-1])
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield Periodic(start, end + period, period)


def _likely_periods(entries: Sequence[int], least: int) -> list[int]:
    """The distances at which most windows come again."""
    windows = zip(*(islice(entries, start, None) for start in range(WINDOW)), strict=False)
    last: dict[tuple[int, ...], int] = {}
    distances: Counter[int] = Counter()
    for place, window in enumerate(windows):
        before = last.get(window)
        if before is not None and place - before >= least:
            distances[place - before] += 1
        last[window] = place
    return [period for period, _ in distances.most_common(MOST_PERIODS)]
