"""Builders of slices and pads."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from sdy.dialects.stablehlo import slicing
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.partitioner.emit.emitter import Emitter, Properties, ints, with_shape


def slice_at(emit: Emitter, value: SSAValue, starts: Sequence[SSAValue], sizes: Sequence[int]) -> SSAValue:
    """Slice `sizes` elements of `value`, starting at the values `starts`."""
    properties: Properties = {"slice_sizes": ints(sizes)}
    return emit.value(slicing.DynamicSliceOp, [value, *starts], with_shape(value, sizes), properties)


def slice_along(emit: Emitter, value: SSAValue, dim: int, start: int, limit: int) -> SSAValue:
    """Slice `value` along `dim` from `start` to before `limit`; return `value` itself if that is the full range."""
    sizes = list(shape_of(value))
    if (start, limit) == (0, sizes[dim]):
        return value
    limits = [limit if index == dim else size for index, size in enumerate(sizes)]
    properties: Properties = {
        "start_indices": ints([start if index == dim else 0 for index in range(len(sizes))]),
        "limit_indices": ints(limits),
        "strides": ints([1] * len(sizes)),
    }
    sizes[dim] = limit - start
    return emit.value(slicing.SliceOp, [value], with_shape(value, sizes), properties)


def sliced_dim(op: slicing.SliceOp) -> int | None:
    """Return the only dim that a slice shortens; None if it takes steps, or shortens several dims."""
    shape, starts, limits = shape_of(op.operand), ints_of(op.start_indices), ints_of(op.limit_indices)
    dims = [dim for dim, size in enumerate(shape) if (starts[dim], limits[dim]) != (0, size)]
    return dims[0] if len(dims) == 1 and all(step == 1 for step in ints_of(op.strides)) else None


def pad_edges(emit: Emitter, value: SSAValue, filler: SSAValue, low: Sequence[int], high: Sequence[int]) -> SSAValue:
    """Pad `value` with `filler` at both ends of each dim."""
    sizes = [before + size + after for before, size, after in zip(low, shape_of(value), high, strict=True)]
    properties: Properties = {
        "edge_padding_low": ints(low),
        "edge_padding_high": ints(high),
        "interior_padding": ints([0] * len(sizes)),
    }
    return emit.value(slicing.PadOp, [value, filler], with_shape(value, sizes), properties)
