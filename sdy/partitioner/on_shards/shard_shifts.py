"""Shifts of the elements within each shard of a slice or pad, if no element moves to another shard.

Source: docs/spec/06, 0.10, 1.17, 1.18 and 8.1 (G18, G19).
"""

from __future__ import annotations

from collections.abc import Callable

from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of

Shifts = tuple[int, ...]  # one entry per shard of a dim, in order
MoveAlong = Callable[[int, int], Shifts | None]


def shard_shifts_of(op: SliceOp | PadOp) -> MoveAlong:
    """Return a function of a dim and its shard count for an op with global shapes.

    The function returns by how much each shard shifts its elements, None if some element moves to another shard.
    """
    operand_shape, result_shape = shape_of(op.operand), shape_of(op.result)

    def moved_along(dim: int, count: int) -> Shifts | None:
        if operand_shape[dim] % count or result_shape[dim] % count:
            return None
        shard, result_shard = operand_shape[dim] // count, result_shape[dim] // count
        if isinstance(op, SliceOp):
            start, stride = (ints_of(each)[dim] for each in (op.start_indices, op.strides))
            return slice_shifts(start, stride, shard, result_shard, count)
        low, interior = (ints_of(each)[dim] for each in (op.edge_padding_low, op.interior_padding))
        return pad_shifts(low, interior, shard, result_shard, count)

    return moved_along


def slice_shifts(start: int, stride: int, shard: int, result_shard: int, count: int) -> Shifts | None:
    """Return the start of the slice of each of `count` shards, of `shard` elements and with `result_shard` results.

    Returns None if a shard of the result requires elements of another shard of the operand.

    >>> slice_shifts(1, 1, shard=2, result_shard=1, count=2)
    (1, 0)
    >>> slice_shifts(2, 1, shard=4, result_shard=3, count=2) is None
    True
    """
    starts = tuple(start + index * (result_shard * stride - shard) for index in range(count))
    span = max(0, (result_shard - 1) * stride + 1)
    return starts if all(first >= 0 and first + span <= shard for first in starts) else None


def pad_shifts(low: int, interior: int, shard: int, result_shard: int, count: int) -> Shifts | None:
    """Return the position of the first element of each of `count` shards in its shard of the padded dim.

    The position may be outside the shard of the result. Returns None if an element belongs to another shard.

    >>> pad_shifts(2, 0, shard=4, result_shard=6, count=2)
    (2, 0)
    >>> pad_shifts(1, 0, shard=4, result_shard=4, count=2) is None
    True
    """
    step = interior + 1
    last = shard * count - 1
    for index in range(count):
        first_needed = max(0, -((low - index * result_shard) // step))
        last_needed = min(last, ((index + 1) * result_shard - 1 - low) // step)
        if first_needed <= last_needed and not first_needed // shard == index == last_needed // shard:
            return None
    return tuple(index * (shard * step - result_shard) + low for index in range(count))
