"""By how much each shard moves its elements when a tensor is sliced or padded, where none come from another shard.

Source: docs/spec/06, 0.10, 1.17, 1.18 and 8.1 (G18, G19).
"""

from __future__ import annotations

from collections.abc import Callable

from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of

Shifts = tuple[int, ...]  # one per shard of a dim, in order
MoveAlong = Callable[[int, int], Shifts | None]


def shard_shifts_of(op: SliceOp | PadOp) -> MoveAlong:
    """Of an op with whole tensors, a function of a dim and of the number of its shards.

    It tells by how much each shard moves its elements, or None where some come from another shard.
    """
    whole, result = shape_of(op.operand), shape_of(op.result)

    def moved_along(dim: int, count: int) -> Shifts | None:
        if whole[dim] % count or result[dim] % count:
            return None
        shard, result_shard = whole[dim] // count, result[dim] // count
        if isinstance(op, SliceOp):
            start, stride = (ints_of(each)[dim] for each in (op.start_indices, op.strides))
            return slice_shifts(start, stride, shard, result_shard, count)
        low, interior = (ints_of(each)[dim] for each in (op.edge_padding_low, op.interior_padding))
        return pad_shifts(low, interior, shard, result_shard, count)

    return moved_along


def slice_shifts(start: int, stride: int, shard: int, result_shard: int, count: int) -> Shifts | None:
    """Where each of `count` shards of a dim begins to slice its `shard` elements to `result_shard` elements.

    None where a shard of the result needs elements that another shard of the operand holds.

    >>> slice_shifts(1, 1, shard=2, result_shard=1, count=2)
    (1, 0)
    >>> slice_shifts(1, 1, shard=4, result_shard=3, count=2) is None
    True
    """
    starts = tuple(start + place * (result_shard * stride - shard) for place in range(count))
    span = max(0, (result_shard - 1) * stride + 1)
    return starts if all(begin >= 0 and begin + span <= shard for begin in starts) else None


def pad_shifts(low: int, interior: int, shard: int, result_shard: int, count: int) -> Shifts | None:
    """Where in its part of a padded dim each of `count` shards puts its first element, be it outside of the part.

    None where an element of a shard belongs into the part of another.

    >>> pad_shifts(2, 0, shard=4, result_shard=6, count=2)
    (2, 0)
    >>> pad_shifts(1, 0, shard=4, result_shard=4, count=2) is None
    True
    """
    step = interior + 1
    last = shard * count - 1
    for place in range(count):
        first_needed = max(0, -((low - place * result_shard) // step))
        last_needed = min(last, ((place + 1) * result_shard - 1 - low) // step)
        if first_needed <= last_needed and not first_needed // shard == place == last_needed // shard:
            return None
    return tuple(place * (shard * step - result_shard) + low for place in range(count))
