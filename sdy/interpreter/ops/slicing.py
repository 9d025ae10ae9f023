"""Kernels of slice, update, concatenate and pad ops, and the slices that a gather or scatter takes along its dims."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from sdy.dialects.stablehlo import slicing as ops
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, uniform, with_unit_dims
from sdy.model.shape import StaticShape

LARGEST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class SliceDims:
    """The dims of one tensor in a gather or scatter.

    Slices have `sizes`. Component j of an index vector is the start along dim `index_map[j]`. Along `batch_dims` the
    start is the position of the index vector along the dims `index_batch_dims` of the indices. The dims in neither
    `batch_dims` nor `dropped` are the dims of the resulting slice.
    """

    shape: StaticShape
    sizes: StaticShape
    index_map: StaticShape
    batch_dims: StaticShape
    index_batch_dims: StaticShape
    dropped: StaticShape

    @property
    def window_dims(self) -> StaticShape:
        """The dims that a slice keeps, in order."""
        return tuple(dim for dim in range(len(self.shape)) if dim not in (*self.batch_dims, *self.dropped))

    @property
    def inner_rank(self) -> int:
        """The number of last dims that every slice contains in full, so that they move as one block."""
        rank = 0
        while rank < len(self.shape):
            dim = len(self.shape) - 1 - rank
            if dim in self.index_map or dim not in self.window_dims or self.sizes[dim] != self.shape[dim]:
                break
            rank += 1
        return rank

    @property
    def outer_window_dims(self) -> StaticShape:
        """The dims that a slice keeps, without those that move as one block."""
        return self.window_dims[: len(self.window_dims) - self.inner_rank]

    @property
    def outer_shape(self) -> StaticShape:
        """The sizes of all dims but those of the block."""
        return self.shape[: len(self.shape) - self.inner_rank]

    @property
    def inner_shape(self) -> StaticShape:
        """The sizes of the dims that move as one block."""
        return self.shape[len(self.shape) - self.inner_rank :]


def index_vectors(context: KernelContext, indices: Array, vector_dim: int) -> IntArray:
    """Return the indices as i64, with the components of an index vector along the last dim."""
    array_dim = context.rank + vector_dim
    vectors = indices[..., np.newaxis] if array_dim == indices.ndim else np.moveaxis(indices, array_dim, -1)
    return signed_indices(vectors)


def signed_indices(indices: Array) -> IntArray:
    """Return the indices as i64; an index too large for i64 becomes one that is too large for any dim."""
    if indices.dtype == np.dtype(np.uint64):
        indices = np.minimum(indices, np.array(LARGEST, np.uint64))
    return indices.astype(np.int64)


def block_positions(
    context: KernelContext, dims: SliceDims, vectors: IntArray, *, clamp: bool
) -> tuple[IntArray, Array]:
    """Return the position in the tensor of each block of each slice, and whether it is in bounds.

    The shape is that of the index vectors, then that of the slices along `outer_window_dims`. With `clamp`, starts are
    clamped so that slices are in bounds.
    """
    rank = context.rank
    index_rank = vectors.ndim - 1 - rank
    outer, kept = dims.outer_shape, dims.outer_window_dims
    positions = np.zeros((1,) * (vectors.ndim - 1 + len(kept)), np.int64)
    inside = np.ones(positions.shape, np.bool_)
    for dim, size in enumerate(outer):
        along = np.zeros((1,) * positions.ndim, np.int64)
        if dim in dims.index_map:
            start = vectors[..., dims.index_map.index(dim)]
            start = np.clip(start, 0, size - dims.sizes[dim]) if clamp else start
            along = along + start.reshape(start.shape + (1,) * len(kept))
        if dim in dims.batch_dims:
            index_dim = dims.index_batch_dims[dims.batch_dims.index(dim)]
            along = along + counted_along(rank + index_dim, vectors.shape[rank + index_dim], positions.ndim)
        if dim in kept:
            along = along + counted_along(rank + index_rank + kept.index(dim), dims.sizes[dim], positions.ndim)
        inside = inside & (along >= 0) & (along < size)
        positions = positions + along * prod(outer[dim + 1 :])
    leading = vectors.shape[:rank]
    shape = (*leading, *vectors.shape[rank:-1], *(dims.sizes[dim] for dim in kept))
    return np.broadcast_to(positions, shape), np.broadcast_to(inside, shape)


def counted_along(dim: int, size: int, rank: int) -> IntArray:
    """Return 0, 1, 2, ... along `dim` of an array of this rank, whose other dims have size 1."""
    return np.arange(size, dtype=np.int64).reshape(tuple(size if index == dim else 1 for index in range(rank)))


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
    indices = with_unit_dims(context, start, operand.ndim - context.rank) + counted_along(place, size, operand.ndim)
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
        first = with_unit_dims(context, start, operand.ndim - context.rank)
        offset: IntArray = np.subtract(counted_along(place, size, operand.ndim), first)
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
        return (np.concatenate(context.aligned(arrays), axis=context.rank + dim),)

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
