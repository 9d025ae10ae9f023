"""Kernels of slice, update, concatenate and pad ops."""

from __future__ import annotations

import numpy as np

from sdy.dialects.stablehlo import slicing as ops
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, uniform, with_unit_dims
from sdy.interpreter.ops.window_dims import signed_indices
from sdy.model.shape import StaticShape

KERNELS = KernelTable()


@KERNELS.of(ops.SliceOp)
def slice_of_tensor(op: ops.SliceOp) -> Kernel:
    """Take every `strides`-th element from start to limit."""
    ranges = zip(ints_of(op.start_indices), ints_of(op.limit_indices), ints_of(op.strides), strict=True)
    index = (..., *(slice(start, limit, stride) for start, limit, stride in ranges))
    return lambda _, arrays: (arrays[0][index],)


@KERNELS.of(ops.RealDynamicSliceOp)
def real_dynamic_slice(op: ops.RealDynamicSliceOp) -> Kernel:
    """Slice with starts, limits and strides that are operands."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        bounds = [uniform(context, bound, "the bounds of a slice").tolist() for bound in arrays[1:]]
        if min(bounds[2], default=1) < 1:
            raise failure("SDY-X018", f"strides of a slice must be positive, got {bounds[2]}")
        return (arrays[0][(..., *(slice(*bound) for bound in zip(*bounds, strict=True)))],)

    return kernel


@KERNELS.of(ops.DynamicSliceOp)
def dynamic_slice(op: ops.DynamicSliceOp) -> Kernel:
    """Take a slice of static sizes from a start that may differ between devices."""
    sizes = ints_of(op.slice_sizes)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, *starts = arrays
        for dim, (size, start) in enumerate(zip(sizes, starts, strict=True)):
            operand = _taken(context, operand, dim, size, _clamped(start, context.local(operand)[dim] - size))
        return (operand,)

    return kernel


def _taken(context: KernelContext, operand: Array, dim: int, size: int, start: IntArray) -> Array:
    """Take `size` elements along `dim` from `start`, a scalar per device."""
    place = context.rank + dim
    if start.size == 1:
        first = int(start.reshape(()))
        return operand[(slice(None),) * place + (slice(first, first + size),)]
    along = (size,) + (1,) * (operand.ndim - place - 1)
    indices = with_unit_dims(context, start, operand.ndim - context.rank) + np.arange(size).reshape(along)
    sizes = [own if other == 1 else other for own, other in zip(operand.shape, indices.shape, strict=True)]
    sizes[place] = operand.shape[place]
    return np.take_along_axis(np.broadcast_to(operand, sizes), indices, axis=place)


def _clamped(start: Array, largest: int) -> IntArray:
    return np.clip(signed_indices(start), 0, largest)


@KERNELS.of(ops.DynamicUpdateSliceOp)
def dynamic_update_slice(op: ops.DynamicUpdateSliceOp) -> Kernel:
    """Overwrite the operand with the update from a start that may differ between devices."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, update, *starts = arrays
        sizes, lengths = context.local(operand), context.local(update)
        limits = [size - length for size, length in zip(sizes, lengths, strict=True)]
        places = [_clamped(start, limit) for start, limit in zip(starts, limits, strict=True)]
        if all(place.size == 1 for place in places):
            firsts = [int(place.reshape(())) for place in places]
            return (_overwritten(context, operand, update, tuple(firsts)),)
        return (_overwritten_by_device(context, operand, update, places),)

    return kernel


def _overwritten(context: KernelContext, operand: Array, update: Array, starts: StaticShape) -> Array:
    leading = np.broadcast_shapes(context.leading(operand), context.leading(update))
    result = np.broadcast_to(operand, leading + context.local(operand)).copy()
    sizes = context.local(update)
    result[(..., *(slice(start, start + size) for start, size in zip(starts, sizes, strict=True)))] = update
    return result


def _overwritten_by_device(context: KernelContext, operand: Array, update: Array, starts: list[IntArray]) -> Array:
    """Look up for each position of the result the element of the update that covers it, if any."""
    if not operand.size or not update.size:
        return operand
    leading = np.broadcast_shapes(*(context.leading(array) for array in (operand, update, *starts)))
    result = np.broadcast_to(update, leading + context.local(update))
    is_inside = np.ones((1,) * operand.ndim, np.bool_)
    for dim, start in enumerate(starts):
        place = context.rank + dim
        size, length = operand.shape[place], update.shape[place]
        along = (size,) + (1,) * (operand.ndim - place - 1)
        first = with_unit_dims(context, start, operand.ndim - context.rank)
        indices: IntArray = np.arange(size, dtype=np.int64).reshape(along)
        offset: IntArray = np.subtract(indices, first)
        is_inside = is_inside & (offset >= 0) & (offset < length)
        sizes = [max(pair) for pair in zip(result.shape, offset.shape, strict=True)]
        sizes[place] = length
        result = np.take_along_axis(np.broadcast_to(result, sizes), np.clip(offset, 0, length - 1), axis=place)
    return np.where(is_inside, result, operand)


@KERNELS.of(ops.ConcatenateOp)
def concatenate(op: ops.ConcatenateOp) -> Kernel:
    """Concatenate the inputs along a dim."""
    dim = op.dimension.value.data

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        leading = np.broadcast_shapes(*(context.leading(array) for array in arrays))
        full = [np.broadcast_to(array, leading + context.local(array)) for array in arrays]
        return (np.concatenate(full, axis=context.rank + dim),)

    return kernel


@KERNELS.of(ops.PadOp)
def pad(op: ops.PadOp) -> Kernel:
    """Insert the padding value before, after and between the elements."""
    low, high = ints_of(op.edge_padding_low), ints_of(op.edge_padding_high)
    interior = ints_of(op.interior_padding)
    return lambda context, arrays: (padded(context, arrays[0], arrays[1], low, high, interior),)


@KERNELS.of(ops.DynamicPadOp)
def dynamic_pad(op: ops.DynamicPadOp) -> Kernel:
    """Pad by amounts that are operands."""

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, value, *amounts = arrays
        low, high, interior = (tuple(uniform(context, amount, "the padding").tolist()) for amount in amounts)
        return (padded(context, operand, value, low, high, interior),)

    return kernel


def padded(
    context: KernelContext, operand: Array, value: Array, low: StaticShape, high: StaticShape, interior: StaticShape
) -> Array:
    """Return the operand with `value` around and between its elements; negative amounts remove elements.

    `interior` is the number of elements inserted between adjacent ones, before negative edge padding applies.
    """
    local = context.local(operand)
    if not any((*low, *high, *interior)):
        return operand
    spread = [max((size - 1) * (gap + 1) + 1, 0) if size else 0 for size, gap in zip(local, interior, strict=True)]
    sizes = tuple(before + size + after for before, size, after in zip(low, spread, high, strict=True))
    leading = np.broadcast_shapes(context.leading(operand), context.leading(value))
    result = np.empty(leading + sizes, operand.dtype)
    result[...] = with_unit_dims(context, value, len(local))
    kept = [_kept(*dim) for dim in zip(local, sizes, low, interior, strict=True)]
    if all(source.stop > source.start for source, _ in kept):
        sources, targets = zip(*kept, strict=True)
        result[(..., *targets)] = operand[(..., *sources)]
    return result


def _kept(size: int, result_size: int, low: int, gap: int) -> tuple[slice, slice]:
    """Return which elements of a dim remain after negative padding, and their positions in the result."""
    step = gap + 1
    first = max(-(low // step), 0)
    stop = min(-((low - result_size) // step), size)
    return slice(first, max(stop, first)), slice(low + first * step, low + max(stop - 1, first) * step + 1, step)
