"""Stretches of a sequence that come several times in a row, as the layers of a network do.

    0 1 [2 3 4 5] [2 3 4 5] [2 3 4 5] 2 3 9      start 2, length 4, three times

Where the sequence has period 4, a repetition may start at any of four places; which one is best is for the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WINDOW = 8  # entries that must be equal for a period to be tried; a power of 2
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
    items = np.array(entries, dtype=np.int64)
    found = (part for period in _likely_periods(items, least_period) for part in periodic_parts(items, period))
    long_enough = (part for part in found if part.end - part.start >= LEAST_COUNT * part.period)
    return max(long_enough, key=lambda part: part.saved, default=None)


def periodic_parts(items: NDArray[np.int64], period: int) -> Iterator[Periodic]:
    """The longest parts of a sequence that have a period, each with more than one period of entries."""
    same = np.concatenate(([False], items[period:] == items[:-period], [False]))
    edges = np.flatnonzero(same[1:] != same[:-1])
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield Periodic(start, end + period, period)


def _likely_periods(items: NDArray[np.int64], least: int) -> list[int]:
    """The distances at which most windows come again; of equally many the one that is found first."""
    if len(items) < WINDOW:
        return []
    windows = _windows(items)
    places = np.argsort(windows, kind="stable")  # equal windows one after the other, each in order
    is_again = windows[places[1:]] == windows[places[:-1]]
    distances = np.zeros(len(windows), dtype=np.int64)
    distances[places[1:][is_again]] = np.diff(places)[is_again]
    found = Counter[int](distances[distances >= least].tolist())
    return [period for period, _ in found.most_common(MOST_PERIODS)]


def _windows(items: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each place a number that stands for the entries from there on, WINDOW of them, which is a power of 2."""
    numbers, length = items, 1
    while length < WINDOW:
        span = numbers.max() - numbers.min() + 1
        numbers = np.unique(numbers[:-length] * span + numbers[length:], return_inverse=True)[1]
        length *= 2
    return numbers
