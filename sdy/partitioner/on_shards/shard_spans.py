"""Plans for slices and pads that require elements of other shards: which slices of shards to exchange.

Positions are indices along the dim; in a span they are relative to the first element of the own shard of a device. All
devices send the same slice of their shards to the device that is a given number of shards away. If devices need
different slices, a regrouping sends less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.on_shards.regrouping import PerShard, Regrouping, moving

ExchangeAlong = Callable[[int, int], "ExchangeSpan | Regrouping | None"]


@dataclass(frozen=True, slots=True)
class ShardSlice:
    """The slice of `length` positions, beginning at `start`, of the shard that is `distance` shards after the own one.

    `pairs` are the senders and receivers. If they are empty and the distance is not 0, no device requires the slice.
    """

    distance: int
    start: int
    length: int
    pairs: tuple[tuple[int, int], ...]

    @property
    def is_sent(self) -> bool:
        """Return whether devices send this slice to each other."""
        return self.distance != 0 and bool(self.pairs)


class PartInShard(NamedTuple):
    """The positions of a range that are in one shard, from `start` to before `end` of the shard."""

    shard: int
    start: int
    end: int


def parts_in_shards(start: int, count: int, size: int) -> Iterator[PartInShard]:
    """Yield the parts of `count` positions from `start` on that are in each shard of `size` positions.

    >>> [tuple(part) for part in parts_in_shards(13, 5, size=16)]
    [(0, 13, 16), (1, 0, 2)]
    """
    for shard in range(start // size, (start + count - 1) // size + 1):
        first = shard * size
        yield PartInShard(shard, max(start, first) - first, min(start + count, first + size) - first)


@dataclass(frozen=True, slots=True)
class ExchangeSpan:
    """The slices that every device concatenates, and the start of the device's `length` result positions in them.

    In the global result, the elements of the operand are at the positions from `first` to before `end`. Positions
    outside all shards hold zeros.
    """

    slices: tuple[ShardSlice, ...]
    starts: PerShard
    length: int
    first: int
    end: int

    @property
    def is_full(self) -> bool:
        """Return whether every position of the result holds an element of the operand."""
        return self.first <= 0 and self.end >= self.length * len(self.starts)

    @property
    def permute_count(self) -> int:
        """Return the number of slices that are sent."""
        return sum(part.is_sent for part in self.slices)

    @property
    def received(self) -> int:
        """Return the number of positions that each device receives."""
        return sum(part.length for part in self.slices if part.is_sent)


def exchange_of(op: SliceOp | PadOp) -> ExchangeAlong:
    """Return a function of a dim and its shard count for an op with global shapes: its exchange, None if it has none.

    That is a regrouping if it sends less than a span.
    """
    sizes, results = shape_of(op.operand), shape_of(op.result)
    moved = [_moved_by(op, dim) for dim in range(len(sizes))]

    def exchange_along(dim: int, count: int) -> ExchangeSpan | Regrouping | None:
        size, result, shift = sizes[dim], results[dim], moved[dim]
        if shift is None or not size or not result or size % count or result % count:
            return None
        return cheapest_exchange(shift, size // count, result // count, count)

    return exchange_along


def cheapest_exchange(moved: int, shard: int, result_shard: int, count: int) -> ExchangeSpan | Regrouping:
    """Return the span, or the regrouping if it sends less, of a dim whose elements all move by `moved`."""
    plans = span(moved, shard, result_shard, count), moving(moved, shard, result_shard, count)
    return min(plans, key=lambda plan: (plan.received, plan.permute_count))


def _moved_by(op: SliceOp | PadOp, dim: int) -> int | None:
    """Return how far the elements move along `dim`, None if the op has a stride or interior padding along it."""
    strides, identity_stride = (op.strides, 1) if isinstance(op, SliceOp) else (op.interior_padding, 0)
    if ints_of(strides)[dim] != identity_stride:
        return None
    return -ints_of(op.start_indices)[dim] if isinstance(op, SliceOp) else ints_of(op.edge_padding_low)[dim]


@lru_cache(maxsize=1024)
def span(moved: int, shard: int, result_shard: int, count: int) -> ExchangeSpan:
    """Return the span of a dim whose elements all move by `moved`, with `result_shard` positions per result shard.

    >>> for part in span(-1, shard=16, result_shard=16, count=4).slices:
    ...     print(part.distance, part.start, part.length, part.pairs)
    0 1 15 ()
    1 0 1 ((1, 0), (2, 1), (3, 2))
    """
    starts_in_shard = tuple(index * (result_shard - shard) - moved for index in range(count))
    first, end = min(starts_in_shard), max(starts_in_shard) + result_shard
    slices = [
        part
        for distance in range(first // shard, -(-end // shard))
        for part in _slices_of(distance, shard, starts_in_shard, result_shard)
    ]
    starts = tuple(start_in_shard - first for start_in_shard in starts_in_shard)
    return ExchangeSpan(tuple(slices), starts, result_shard, moved, moved + shard * count)


def _slices_of(distance: int, shard: int, starts_in_shard: PerShard, length: int) -> Iterator[ShardSlice]:
    """Yield the slices of the shard that is `distance` shards after the own one: the required one and its margins."""
    shard_start = distance * shard
    low, high = max(shard_start, min(starts_in_shard)), min(shard_start + shard, max(starts_in_shard) + length)
    receivers = [
        index
        for index, start_in_shard in enumerate(starts_in_shard)
        if 0 <= index + distance < len(starts_in_shard) and start_in_shard < high and low < start_in_shard + length
    ]
    needed_from = max(low, min((starts_in_shard[index] for index in receivers), default=high))
    needed_to = min(high, max((starts_in_shard[index] + length for index in receivers), default=high))
    pairs = tuple((index + distance, index) for index in receivers) if distance else ()
    for start, limit, slice_pairs in ((low, needed_from, ()), (needed_from, needed_to, pairs), (needed_to, high, ())):
        if start < limit:
            yield ShardSlice(distance, start - shard_start, limit - start, slice_pairs)
