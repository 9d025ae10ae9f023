"""Plans of exchanges along a padded or sliced dim: the shards a device requires and the start of its slice in them.

Source: docs/spec/06, 3.3 and 3.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sdy.model.axis import AxisList


@dataclass(frozen=True, slots=True)
class DimExchange:
    """An exchange along one dim: receive the shards of neighbors, pad the concatenation, slice this device's part.

    The slice of shard i starts at `slope * i + offset`, or at entry i of the `table`.
    """

    dim: int
    axes: AxisList  # along which the dim is sharded
    count: int  # shards
    shard: int  # elements of an operand shard
    part: int  # positions of a result shard
    left: int  # number of shards required to the left
    right: int  # number of shards required to the right
    step: int = 1  # positions from one element to the next, 1 more than the interior padding
    slope: int = 0
    offset: int = 0
    table: tuple[int, ...] | None = None

    @property
    def margin(self) -> int:
        """Return the padding at both ends with which the slice of every device is in bounds."""
        return self.part * self.step

    @property
    def is_too_far(self) -> bool:
        """Return whether an all-gather of the dim costs no more than this exchange."""
        return self.left + self.right + 1 >= self.count and (self.left > 1 or self.right > 1)


@dataclass(frozen=True, slots=True)
class StridedPlacement:
    """A map of the elements of a dim: element i moves to position `low + i * step` of `size` positions.

    A slice that starts at s is a placement with `low` -s.
    """

    low: int
    step: int
    size: int


def dim_exchange(
    dim: int, axes: AxisList, count: int, elements: int, placement: StridedPlacement
) -> tuple[DimExchange, bool]:
    """Return the exchange that moves a dim of `elements` elements in `count` shards to its placement.

    Also return whether it is needed: some shard requires elements of another one, or no elements at all.

    >>> exchange, is_needed = dim_exchange(0, (), 2, 8, StridedPlacement(0, 1, 3))
    >>> (exchange.left, exchange.right, exchange.shard, exchange.part, exchange.slope, exchange.offset, is_needed)
    (1, 0, 4, 2, -2, 6, True)
    """
    shard, part = -(-elements // count), -(-placement.size // count)
    low, step = placement.low, placement.step
    spans = [_span(_divided_toward_zero(index * part - low, step), part, elements) for index in range(count)]
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


def is_communication_free(count: int, elements: int, placement: StridedPlacement, *, is_slice: bool) -> bool:
    """Return whether each of `count` shards holds all elements that it requires.

    A slice must start at 0: other slices result in shards of different sizes. Source: docs/spec/06, 0.10.
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
    """Return the first and the last element in a window of `part` positions, None if it contains no element."""
    first, last = max(0, begin), min(elements - 1, begin + part - 1)
    return (first, last) if first <= last else None


def _reach(holders: Iterable[tuple[int, int, int]]) -> tuple[int, int]:
    """Return the largest distances to the left and to the right of the shards that hold required elements."""
    left = right = 0
    for index, first, last in holders:
        left, right = max(left, index - first), max(right, last - index)
    return left, right


def _divided_toward_zero(dividend: int, divisor: int) -> int:
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)
