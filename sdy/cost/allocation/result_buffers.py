"""The values that are stored in the memory of results of the program, before these are computed.

XLA allocates results for the length of a run, and assigns other buffers to the same memory while it is idle. A value
takes the smallest idle result that is large enough, for its entire life. It must fill at least half of that, so that
small values do not take the memory that a large one needs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar

from sdy.cost.lifetimes import LifetimeStep, last_reads

V = TypeVar("V")
MOST_LARGER = 2  # times the size of a value, the size of the result in whose memory it is stored


def stored_in_results(results: Sequence[V], steps: Sequence[LifetimeStep[V]], bytes_of: Callable[[V], int]) -> list[V]:
    """Return the values that are stored in idle memory of results.

    What enters or leaves regions is not among them, because the regions count its memory.
    """
    last = last_reads(steps)
    excluded = {value for step in steps for value in (*step.region_inputs, *step.overwritten)}.union(results)
    idle = _IdleResults()
    first = {value: number for number, step in enumerate(steps) for value in step.produces}
    for value in results:
        # A step in place may write over what it reads last, any other step only over what was read before.
        idle.add(bytes_of(value), first[value] - (0 if steps[first[value]].is_in_place else 1))
    found: list[V] = []
    for number, step in enumerate(steps):
        idle.release(number if step.is_in_place else number - 1)
        for value in () if step.inside or step.overwritten else step.produces:
            size = bytes_of(value)
            if size and value not in excluded and idle.take(size, last.get(value, number)):
                found.append(value)
    return found


class _IdleResults:
    """The results whose memory no value takes: by size, the last step before each of them is needed."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._ends: defaultdict[int, list[int]] = defaultdict(list)
        self._taken: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)  # by the step that frees them
        self._released = -1

    def add(self, size: int, end: int) -> None:
        """Add a result of `size` bytes that is idle until the step `end`."""
        if size not in self._ends:
            insort(self._sizes, size)
        insort(self._ends[size], end)

    def take(self, size: int, until: int) -> bool:
        """Take the memory of a result for a value that lives until a step; False if none fits."""
        for larger in self._sizes[bisect_left(self._sizes, size) : bisect_right(self._sizes, MOST_LARGER * size)]:
            ends = self._ends[larger]
            index = bisect_left(ends, until)
            if index < len(ends):
                self._taken[until].append((larger, ends.pop(index)))
                return True
        return False

    def release(self, number: int) -> None:
        """Free the memory of values that no step after `number` reads."""
        for step in range(self._released + 1, number + 1):
            for size, end in self._taken.pop(step, ()):
                self.add(size, end)
        self._released = max(self._released, number)
