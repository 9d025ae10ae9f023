"""Choices by integers that are not known: whether a start or an index lies in an interval, and the element it selects.

The interval `[low, high]` of an integer, whose ends may be None for none, is true or false: 1 or 0. Its code is the
difference of two variables, one for each end, so that neighbouring intervals add up to the interval of both. Integers
that differ by a known number, or by a clamp, have intervals of the same variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import numpy as np

from sdy.evidence.proof.relations import Codes, NotProvedError
from sdy.evidence.proof.rings import (
    ONE,
    SMALL,
    added,
    as_integer,
    as_integers,
    chosen,
    difference_of,
    is_integer,
    product_of,
    scaled,
    summed,
)

MOST_TESTS = 2**18  # of starts, to follow the elements that one op chooses
Ends = tuple[int | None, int | None]


class Interval(NamedTuple):
    """The condition that an integer is in `[low, high]`."""

    integer: int  # its code
    low: int | None
    high: int | None


class Clamp(NamedTuple):
    """The integer `integer`, raised to `low` and lowered to `high`, plus `shift`, which does not wrap if `is_exact`."""

    integer: int
    low: int | None
    high: int | None
    shift: int
    limits: tuple[int, int]  # of its type
    is_exact: bool


@dataclass(frozen=True, slots=True)
class Selected:
    """Elements that starts select: for each tuple of starts of `tuples`, the codes that are selected by it."""

    starts: Codes  # [elements, dims]
    ends: Sequence[Sequence[Ends]]  # per dim, of each start
    leaves: Codes  # [tuples of starts, elements]


@dataclass(slots=True)
class Choices:
    """Facts about codes of integers, of booleans, and of elements that were selected by integers."""

    variable: Callable[..., int]
    large: dict[int, int] = field(default_factory=dict[int, int])  # constants that are large integers
    clamps: dict[int, Clamp] = field(default_factory=dict[int, Clamp])
    intervals: dict[int, tuple[Interval, ...]] = field(default_factory=dict[int, tuple[Interval, ...]])
    selected: dict[int, tuple[Selected, int]] = field(default_factory=dict[int, tuple[Selected, int]])
    _origins: dict[int, int] = field(default_factory=dict[int, int])  # of clamps, or integers on the way to them
    _ranges: dict[int, Ends] = field(default_factory=dict[int, Ends])  # of clamps: sums have long chains of them

    def range_of(self, code: int) -> Ends:
        """Return the least and the greatest number that an integer can be, as far as it is known."""
        number = self.large.get(code, as_integer(code))
        if number is not None:
            return number, number
        if code not in self.clamps:
            return None, None
        if code not in self._ranges:
            self._ranges[code] = self._range_of_clamp(self.clamps[code])
        return self._ranges[code]

    def _range_of_clamp(self, clamp: Clamp) -> Ends:
        low, high = _clamped(self.range_of(clamp.integer), (clamp.low, clamp.high))
        if not clamp.is_exact or low is None or high is None:
            return None, None
        return low + clamp.shift, high + clamp.shift

    def clamp(self, code: int, integer: int, ends: Ends, element: str, shift: int = 0) -> None:
        """Note that a code is an integer that is clamped, then shifted; unless that integer was computed from it."""
        if code in self.clamps or self._origin_of(integer) == code:
            return
        limits = limits_of(element)
        low, high = _clamped(self.range_of(integer), ends)
        is_exact = not shift or (low is not None and high is not None)
        if is_exact and shift:
            is_exact = limits[0] <= cast("int", low) + shift and cast("int", high) + shift <= limits[1]
        if as_integer(code) is None:
            self.clamps[code] = Clamp(integer, *ends, shift, limits, is_exact)

    def _origin_of(self, code: int) -> int:
        """Return the integer from which one was clamped and shifted, again and again."""
        found = code
        while found in self.clamps:
            found = self._origins.get(found, self.clamps[found].integer)
        if found != code:
            self._origins[code] = found
        return found

    def interval(self, code: int, low: int | None, high: int | None) -> Interval | bool:
        """Return an interval of an integer as one of the integer that it was computed from, or whether it holds."""
        while code in self.clamps:
            clamp = self.clamps[code]
            if clamp.shift:
                ends = (None if low is None else low - clamp.shift, None if high is None else high - clamp.shift)
                numbers = [each for each in (low, high, *ends) if each is not None]
                has_limits = clamp.limits[0] <= min(numbers, default=0) and max(numbers, default=0) <= clamp.limits[1]
                if not clamp.is_exact and not (len(numbers) == 4 and has_limits):
                    break
                low, high = ends
            if _is_empty(_within((low, high), (clamp.low, clamp.high))):
                return False
            low = None if low is not None and clamp.low is not None and low <= clamp.low else low
            high = None if high is not None and clamp.high is not None and high >= clamp.high else high
            code = clamp.integer
        least, greatest = self.range_of(code)
        if least is not None and greatest is not None:
            if _is_empty(_within((low, high), (least, greatest))):
                return False
            if (low is None or low <= least) and (high is None or high >= greatest):
                return True
        if low is None and high is None:
            return True
        return False if _is_empty((low, high)) else Interval(code, low, high)

    def of_interval(self, interval: Interval | bool) -> int:
        """Return the code of an interval."""
        if isinstance(interval, bool):
            return ONE * interval
        above = ONE if interval.high is None else self.variable("below", interval.integer, interval.high + 1)
        below = 0 if interval.low is None else self.variable("below", interval.integer, interval.low)
        code = difference_of(above, below)
        self.intervals.setdefault(code, (interval,))
        return code

    def in_intervals(self, codes: Codes, ends: Sequence[Ends]) -> Codes:
        """Return the codes of whether integers lie in intervals, along a new last dim."""
        distinct, inverse = np.unique(codes, return_inverse=True)
        numbers, is_known = as_integers(distinct)
        low = np.array([-SMALL if each is None else each for each, _ in ends])
        high = np.array([SMALL if each is None else each for _, each in ends])
        if np.count_nonzero(~is_known) * len(ends) > MOST_TESTS:
            raise NotProvedError("so many starts are followed by their windows only")
        found = np.where((numbers[:, None] >= low) & (numbers[:, None] <= high), ONE, 0)
        for row in np.flatnonzero(~is_known):
            found[row] = [self.of_interval(self.interval(int(distinct[row]), *each)) for each in ends]
        return found[inverse.reshape(codes.shape)]

    def both(self, masks: Sequence[int]) -> int:
        """Return the code of whether all of several booleans are true."""
        intervals: dict[int, Ends] = {}
        others: set[int] = set()
        for mask in masks:
            for each in self.intervals.get(mask, ()):
                ends = intervals.get(each.integer, (None, None))
                intervals[each.integer] = _within(ends, (each.low, each.high))
            others |= set[int]() if mask in self.intervals or mask == ONE else {mask}
        tidied = [self.interval(code, *ends) for code, ends in intervals.items()]
        code = ONE
        for each in (*others, *map(self.of_interval, tidied)):
            code = product_of(code, each)
        if not others and False not in tidied:
            self.intervals.setdefault(code, tuple(each for each in tidied if not isinstance(each, bool)))
        return code

    def where(self, mask: Codes, one: Codes, other: Codes) -> Codes:
        """Return the elements of one value where a mask is true, and of the other one elsewhere."""
        found = chosen(mask, one, other)
        groups: dict[tuple[int, int, tuple[int, ...]], tuple[Selected, list[int], list[int]]] = {}
        flat = [np.broadcast_to(each, found.shape).reshape(-1) for each in (mask, one, other)]
        is_masked = np.isin(flat[0], list(self.intervals)) if self.selected else np.zeros(found.size, np.bool_)
        for position in np.flatnonzero(is_masked).tolist():
            if (entry := self.selected.get(int(flat[1][position]))) is not None:
                selected, number = entry
                starts = tuple(selected.starts[number].tolist())
                key = (int(flat[0][position]), id(selected), starts)
                _, numbers, positions = groups.setdefault(key, (selected, [], []))
                numbers.append(number)
                positions.append(position)
        if sum(len(selected.leaves) for selected, *_ in groups.values()) > MOST_TESTS:
            return found  # elements that were selected, of which no more is known
        result = found.reshape(-1)
        for (bit, _, starts), (selected, numbers, positions) in groups.items():
            total = chosen(np.array(bit), np.array(0), flat[2][positions])
            bits = np.array(self._of_tuples(bit, starts, selected.ends))
            (used,) = np.nonzero(bits)
            leaves = selected.leaves[used[:, None], numbers]
            result[positions] = added(total, summed(scaled(bits[used, None], leaves)))
        return result.reshape(found.shape)

    def _of_tuples(self, bit: int, starts: Sequence[int], ends: Sequence[Sequence[Ends]]) -> list[int]:
        """Return, for each tuple of intervals of the starts, the code of whether they hold along with `bit`."""
        codes = [bit]
        for start, own in zip(starts, ends, strict=True):
            tests = [self.of_interval(self.interval(start, *each)) for each in own]
            codes = [self.both((code, test)) if code and test else 0 for code in codes for test in tests]
        return codes


def _within(one: Ends, other: Ends) -> Ends:
    lows = [each for each in (one[0], other[0]) if each is not None]
    highs = [each for each in (one[1], other[1]) if each is not None]
    return max(lows, default=None), min(highs, default=None)


def _clamped(found: Ends, ends: Ends) -> Ends:
    """Return the range of integers of a range that are clamped."""
    low, high = _within(found, ends)
    if not _is_empty((low, high)):
        return low, high
    edge = ends[0] if _is_empty((ends[0], found[1])) else ends[1]
    return edge, edge


def _is_empty(ends: Ends) -> bool:
    low, high = ends
    return low is not None and high is not None and low > high


def limits_of(element: str) -> tuple[int, int]:
    """Return the least and the greatest integer of a type."""
    assert is_integer(element)
    width = int(element.strip("ui"))
    return (0, 2**width - 1) if element.startswith("u") else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
