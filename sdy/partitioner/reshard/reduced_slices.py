"""Reduce slices of a partial value instead of reducing the value and slicing the result.

reduced along {"x", "z"}, then sliced [{"u", "x", "v"}, {}]

all_slice [{"u"}, {}]        each device reduces only the elements that it keeps
reduce_scatter [{"x"}, {}]
all_reduce {"z"}
all_slice [{"v"}, {}]
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import dropwhile, takewhile
from typing import NamedTuple

from sdy.model.mesh_digits import DigitsPerDim, DigitTuple


class ReducedSlices(NamedTuple):
    """The digits of each dim that are sliced before the reduction, scattered by it, and sliced after it.

    `left` are the digits along which the scattered value is all-reduced.
    """

    before: DigitsPerDim
    scattered: DigitsPerDim
    left: DigitTuple
    after: DigitsPerDim


def reduced_slices(sliced: DigitsPerDim, reduced: Collection[int]) -> ReducedSlices:
    """Return how a value is reduced and sliced. A collective shards a dim only at its minor end.

    >>> reduced_slices(((4, 0, 5), ()), (0, 1))
    ReducedSlices(before=((4,), ()), scattered=((0,), ()), left=(1,), after=((5,), ()))
    """
    before = tuple(tuple(takewhile(lambda digit: digit not in reduced, own)) for own in sliced)
    rest = [own[len(first) :] for own, first in zip(sliced, before, strict=True)]
    scattered = tuple(tuple(takewhile(reduced.__contains__, own)) for own in rest)
    after = tuple(tuple(dropwhile(set(first).__contains__, own)) for own, first in zip(rest, scattered, strict=True))
    done = {digit for own in scattered for digit in own}
    return ReducedSlices(before, scattered, tuple(digit for digit in reduced if digit not in done), after)
