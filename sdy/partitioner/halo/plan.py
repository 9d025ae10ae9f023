"""How many neighbours' shards a device needs to compute its part of a padded or sliced dim, and where the part begins.

Numbers alone. Source: docs/spec/06, 3.3 and 3.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sdy.model.axis import AxisList


@dataclass(frozen=True, slots=True)
class DimExchange:
    """What is done along one dim: get the shards of neighbours, pad all of them, take this device's part.

    The shard at index i takes its part at `slope * i + offset`, or where a `table` says.
    """

    dim: int
    axes: AxisList  # along which neighbours are counted
    count: int  # shards
    shard: int  # elements of a shard before
    part: int  # positions of a shard after
    left: int  # farthest neighbour to the left
    right: int
    step: int = 1  # positions from one element to the next, 1 more than the interior padding
    slope: int = 0
    offset: int = 0
    table: tuple[int, ...] | None = None

    @property
    def margin(self) -> int:
        """Positions of padding on either side, so that every part lies in what is there."""
        return self.part * self.step

    @property
    def is_too_far(self) -> bool:
        """Whether gathering the dim costs no more than exchanging this many shards."""
        return self.left + self.right + 1 >= self.count and (self.left > 1 or self.right > 1)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the elements of a dim go: element i to position `low + i * step`, of `size` positions in all.

    A slice from s on is a placement at -s.
    """

    low: int
    step: int
    size: int


def dim_exchange(dim: int, axes: AxisList, count: int, elements: int, placement: Placement) -> tuple[DimExchange, bool]:
    """The exchange by which a dim of `elements` elements in `count` shards gets to its placement.

    Also whether any shard needs elements of another one, or holds none of its own part's.

    >>> exchange, is_needed = dim_exchange(0, (), 2, 8, Placement(0, 1, 3))
    >>> (exchange.left, exchange.right, exchange.shard, exchange.part, exchange.slope, exchange.offset, is_needed)
    (1, 0, 4, 2, -2, 6, True)
    """
    shard, part = -(-elements // count), -(-placement.size // count)
    low, step = placement.low, placement.step
    spans = [_span(_towards_zero(index * part - low, step), part, elements) for index in range(count)]
    holders = [(index, span[0] // shard, span[1] // shard) for index, span in enumerate(spans) if span is not None]
    left, right = _reach((index, first, last) for index, first, last in holders)
    is_needed = len(holders) < count or any((first, last) != (index, index) for index, first, last in holders)
    exchange = DimExchange(
        dim,
        axes,
        count,
        shard,
        part,
        left,
        right,
        step,
        slope=part - shard * step,
        offset=left * shard * step + part * step - low,
    )
    return exchange, is_needed


def is_communication_free(count: int, elements: int, placement: Placement, *, is_slice: bool) -> bool:
    """Whether each of `count` shards finds the elements of its part in itself.

    A slice must begin at the front for that: other ones leave shards of different sizes. Source: docs/spec/06, 0.10.
    """
    if count <= 1:
        return True
    shard, part = -(-elements // count), -(-placement.size // count)
    if is_slice:
        return placement.low == 0 and shard == part
    if placement.step != 1:
        return False
    spans = [_span(index * part - placement.low, part, elements) for index in range(count)]
    return all(span is None or span[0] // shard == index == span[1] // shard for index, span in enumerate(spans))


def _span(begin: int, part: int, elements: int) -> tuple[int, int] | None:
    """The first and the last element in a window of `part` elements; None where it holds none."""
    first, last = max(0, begin), min(elements - 1, begin + part - 1)
    return (first, last) if first <= last else None


def _reach(holders: Iterable[tuple[int, int, int]]) -> tuple[int, int]:
    """How far to the left and to the right the shards are that hold what others need."""
    left = right = 0
    for index, first, last in holders:
        left, right = max(left, index - first), max(right, last - index)
    return left, right


def _towards_zero(dividend: int, divisor: int) -> int:
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)
