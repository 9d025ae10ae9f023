"""Find runs of a sequence that repeat several times in a row, as the layers of a network do.

    0 1 [2 3 4 5] [2 3 4 5] [2 3 4 5] 2 3 9      start 2, length 4, three times

A part with period 4 can be split into repetitions at four positions; the caller chooses one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WINDOW = 8  # entries that must be equal for a period to be tried; a power of 2
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
    items = np.array(entries, dtype=np.int64)
    found = (part for period in _likely_periods(items, least_period) for part in periodic_parts(items, period))
    long_enough = (part for part in found if part.end - part.start >= LEAST_COUNT * part.period)
    return max(long_enough, key=lambda part: part.saved, default=None)


def periodic_parts(items: NDArray[np.int64], period: int) -> Iterator[Periodic]:
    """Yield the maximal parts of a sequence with this period, each longer than one period."""
    same = np.concatenate(([False], items[period:] == items[:-period], [False]))
    edges = np.flatnonzero(same[1:] != same[:-1])
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield Periodic(start, end + period, period)


def _likely_periods(items: NDArray[np.int64], least: int) -> list[int]:
    """Return the distances at which most windows repeat, the most frequent first."""
    if len(items) < WINDOW:
        return []
    windows = _windows(items)
    order = np.argsort(windows, kind="stable")  # equal windows are adjacent, in their original order
    is_repeat = windows[order[1:]] == windows[order[:-1]]
    distances = np.zeros(len(windows), dtype=np.int64)
    distances[order[1:][is_repeat]] = np.diff(order)[is_repeat]
    found = Counter[int](distances[distances >= least].tolist())
    return [period for period, _ in found.most_common(MOST_PERIODS)]


def _windows(items: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each position a number that identifies the next WINDOW entries; WINDOW is a power of 2."""
    numbers, length = items, 1
    while length < WINDOW:
        span = numbers.max() - numbers.min() + 1
        numbers = np.unique(numbers[:-length] * span + numbers[length:], return_inverse=True)[1]
        length *= 2
    return numbers
