"""Builders of slices along one dim, and at values."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from sdy.dialects.stablehlo import slicing
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.emit.emitter import Emitter, Properties, ints, tensor_of, with_shape
from sdy.partitioner.on_shards.combiners import index_bounds


def slice_at(emit: Emitter, value: SSAValue, starts: Sequence[SSAValue], sizes: Sequence[int]) -> SSAValue:
    """Slice `sizes` elements of `value`, starting at the values `starts`."""
    properties: Properties = {"slice_sizes": ints(sizes)}
    return emit.value(slicing.DynamicSliceOp, [value, *starts], with_shape(value, sizes), properties)


def clamped_start(emit: Emitter, start: SSAValue, last: int) -> SSAValue:
    """Clamp a start index to 0 and `last`, as StableHLO does so that a slice fits, and convert it to `tensor<i64>`."""
    if last == 0:
        return emit.index(0)
    _, largest = index_bounds(tensor_of(start).element_type)
    low, high = (emit.constant(tensor_of(start), [limit]) for limit in (0, min(last, largest)))
    return emit.convert(emit.clamp(low, start, high), i64)


def slice_along(emit: Emitter, value: SSAValue, dim: int, start: int, limit: int) -> SSAValue:
    """Slice `value` along `dim` from `start` to before `limit`; return `value` itself if that is the full range."""
    sizes = shape_of(value)
    if (start, limit) == (0, sizes[dim]):
        return value
    starts = [start if index == dim else 0 for index in range(len(sizes))]
    return emit.slice(value, starts, [limit if index == dim else size for index, size in enumerate(sizes)])


def sliced_dim(op: slicing.SliceOp) -> int | None:
    """Return the only dim that a slice shortens; None if it takes steps, or shortens several dims."""
    shape, starts, limits = shape_of(op.operand), ints_of(op.start_indices), ints_of(op.limit_indices)
    dims = [dim for dim, size in enumerate(shape) if (starts[dim], limits[dim]) != (0, size)]
    return dims[0] if len(dims) == 1 and all(step == 1 for step in ints_of(op.strides)) else None
