"""Kernels of gather and scatter: slices are read or written at indices that are operands.

Several updates may go into one block of a tensor, where they are combined.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Block, BlockArgument

from sdy.dialects.stablehlo import gather_scatter as ops
from sdy.dialects.stablehlo.attributes.attrs import GatherDimensionNumbers
from sdy.dialects.stablehlo.attributes.types import rank_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, ScalarT, operand_count, uniform
from sdy.interpreter.ops.conversion import converted
from sdy.interpreter.ops.reduction import Reducer
from sdy.interpreter.ops.slicing import SliceDims, block_positions, counted_along, index_vectors
from sdy.model.shape import StaticShape


def scatter_into(
    context: KernelContext, reducer: Reducer, blocks: Arrays, targets: IntArray, updates: Arrays, captured: Arrays
) -> Arrays:
    """Return tensors of shape `(blocks, elements of a block)` with the updates combined into them.

    `targets` holds the block of each update, in the order of its leading local dims; -1 drops the update. Updates of
    one block are combined in this order.
    """
    leading = np.broadcast_shapes(*(context.leading(array) for array in (*blocks, targets, *updates)))
    copies, (count, size) = prod(leading), context.local(blocks[0])
    per_copy = prod(context.local(targets))
    # The blocks of all devices are numbered in one sequence; a dropped update goes to an extra block at the end.
    rows = np.broadcast_to(targets, leading + context.local(targets)).reshape(copies, per_copy)
    first = np.arange(copies).reshape(copies, 1) * count
    rows_of_updates = np.where(rows < 0, copies * count, rows + first).reshape(-1)
    state = tuple(
        _copy_of(converted(array, dtype), (*leading, count, size)).reshape(copies * count, size)
        for array, dtype in zip(blocks, reducer.dtypes, strict=True)
    )
    kept = np.flatnonzero(rows_of_updates < copies * count)
    order = kept[np.argsort(rows_of_updates[kept], kind="stable")]
    new_rows = tuple(
        converted(_chosen_rows(context, array, (*leading, per_copy), size, order), dtype)
        for array, dtype in zip(updates, reducer.dtypes, strict=True)
    )
    shared = tuple(uniform(context, value, "a value that the update computation captures") for value in captured)
    alone = replace(context, batch=(), grid=None)
    results = _combined(alone, reducer, state, rows_of_updates[order], new_rows, shared)
    return tuple(result.reshape((*leading, count, size)) for result in results)


def _copy_of(array: Array, shape: StaticShape) -> Array:
    """Return a new array of this shape with the elements of `array`, which is broadcast."""
    copy = np.empty(shape, array.dtype)
    copy[...] = array
    return copy


def _chosen_rows(context: KernelContext, updates: Array, shape: StaticShape, size: int, chosen: IntArray) -> Array:
    """Return the chosen updates of all devices; `shape` has their batch dims and the number of updates per device.

    Updates that do not vary along a batch dim are not repeated: most of them may be dropped on each device.
    """
    rows = updates.reshape(-1, size)
    numbers = np.arange(len(rows)).reshape((*context.leading(updates), shape[-1]))
    return rows[np.broadcast_to(numbers, shape).reshape(-1)[chosen]]


def _combined(
    context: KernelContext, reducer: Reducer, state: Arrays, targets: IntArray, updates: Arrays, captured: Arrays
) -> Arrays:
    """Write the rows `updates`, sorted by their `targets`, combined into these rows of `state`; return `state`."""
    if not len(targets):
        return state
    firsts = np.flatnonzero(np.diff(targets, prepend=-1))  # index of the first update of each row
    folds = reducer.folds(context)
    if folds is not None and len(firsts) < len(targets):
        for fold, array, update in zip(folds, state, updates, strict=True):
            fold.fold_into(array, targets, update, firsts)
    elif _replaces_old(reducer.block):
        lasts = np.append(firsts[1:], len(targets)) - 1
        _write(state, targets[lasts], tuple(update[lasts] for update in updates))
    else:
        _combine_in_rounds(context, reducer, state, targets, updates, captured)
    return state


def _combine_in_rounds(
    context: KernelContext, reducer: Reducer, state: Arrays, targets: IntArray, updates: Arrays, captured: Arrays
) -> None:
    """Combine the first update of every row into `state`, then the second ones, and so on."""
    firsts = np.flatnonzero(np.diff(targets, prepend=-1))
    ranks = np.arange(len(targets)) - np.repeat(firsts, np.diff(np.append(firsts, len(targets))))
    for rank in range(int(ranks.max(initial=-1)) + 1):
        chosen = np.flatnonzero(ranks == rank)
        rows = targets[chosen]
        old = tuple(array[rows] for array in state)
        _write(state, rows, reducer.combined(context, old, tuple(update[chosen] for update in updates), captured))


def _write(state: Arrays, rows: IntArray, values: Arrays) -> None:
    for array, value in zip(state, values, strict=True):
        array[rows] = value


def _replaces_old(block: Block) -> bool:
    """Return whether the region returns the new elements unchanged."""
    terminator = block.last_op
    count = len(block.args) // 2
    return terminator is not None and all(
        isinstance(result, BlockArgument) and result is block.args[count + index]
        for index, result in enumerate(terminator.operands)
    )


KERNELS = KernelTable()


@KERNELS.of(ops.GatherOp)
def gather(op: ops.GatherOp) -> Kernel:
    """Read one slice of the operand per index vector; start indices are clamped so that the slice is in bounds."""
    numbers, sizes = op.dimension_numbers.data, ints_of(op.slice_sizes)
    return lambda context, arrays: (_gathered(context, arrays[0], arrays[1], numbers, sizes),)


@KERNELS.of(ops.DynamicGatherOp)
def dynamic_gather(op: ops.DynamicGatherOp) -> Kernel:
    """Gather with slice sizes that are an operand."""
    numbers = op.dimension_numbers.data

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, indices, sizes = arrays
        known = tuple(uniform(context, sizes, "the slice sizes").tolist())
        return (_gathered(context, operand, indices, numbers, known),)

    return kernel


def _gathered(
    context: KernelContext, operand: Array, indices: Array, numbers: GatherDimensionNumbers, sizes: StaticShape
) -> Array:
    vector_dim = numbers.index_vector_dim
    if not all(0 <= size <= whole for size, whole in zip(sizes, context.local(operand), strict=True)):
        raise failure("SDY-X018", f"slices of sizes {list(sizes)} do not fit into {list(context.local(operand))}")
    if not all(sizes[dim] for dim in (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)):
        raise failure("SDY-X018", f"collapsed and batching dims of slices must have size 1, got sizes {list(sizes)}")
    dims = SliceDims(
        shape=context.local(operand),
        sizes=sizes,
        index_map=numbers.start_index_map,
        batch_dims=numbers.operand_batching_dims,
        index_batch_dims=_without_vector(numbers.start_indices_batching_dims, vector_dim),
        dropped=numbers.collapsed_slice_dims,
    )
    positions, _ = block_positions(context, dims, index_vectors(context, indices, vector_dim), clamp=True)
    blocks = operand.reshape((*context.leading(operand), prod(dims.outer_shape), *dims.inner_shape))
    slices = _blocks_at(context, blocks, positions)
    # Dims: those of the indices, then those of the slices, which belong at `offset_dims`.
    window = numbers.offset_dims
    index_rank = slices.ndim - context.rank - len(window)
    order = iter(range(index_rank))
    local = [
        index_rank + window.index(dim) if dim in window else next(order) for dim in range(slices.ndim - context.rank)
    ]
    return slices.transpose((*range(context.rank), *context.dims(local)))


def _blocks_at(context: KernelContext, blocks: Array, positions: IntArray) -> Array:
    """Take the blocks at these positions along the first local dim of `blocks`."""
    if all(size == 1 for size in context.leading(positions)):
        return np.take(blocks, positions.reshape(positions.shape[context.rank :]), axis=context.rank)
    own = (counted_along(axis, size, positions.ndim) for axis, size in enumerate(context.leading(blocks)))
    return blocks[(*own, positions)]


def _without_vector(index_dims: StaticShape, vector_dim: int) -> StaticShape:
    """Return dims of the indices renumbered without the dim of the index vectors."""
    return tuple(dim - (dim > vector_dim) for dim in index_dims)


@KERNELS.of(ops.TorchIndexSelectOp)
def torch_index_select(op: ops.TorchIndexSelectOp) -> Kernel:
    """Select slices along one dim by index, for each index of the leading batch dims."""
    dim, batch_rank = op.dim.value.data, op.batch_dims.value.data
    operand_rank, index_rank = rank_of(op.operand), rank_of(op.index)
    new = index_rank - batch_rank
    # Result dims: batch dims, dims before `dim`, the other dims of the indices, dims after `dim`.
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(batch_rank, dim)) + tuple(range(dim + new, operand_rank - 1 + new)),
        collapsed_slice_dims=(dim,),
        operand_batching_dims=tuple(range(batch_rank)),
        start_indices_batching_dims=tuple(range(batch_rank)),
        start_index_map=(dim,),
        index_vector_dim=index_rank,
    )

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, index = arrays
        shape = context.local(operand)
        sizes = tuple(1 if index < batch_rank or index == dim else size for index, size in enumerate(shape))
        return (_gathered(context, operand, index, numbers, sizes),)

    return kernel


@KERNELS.of(ops.ScatterOp)
def scatter(op: ops.ScatterOp) -> Kernel:
    """Combine slices into the inputs; elements of a slice that are out of bounds are dropped."""
    numbers, reducer = op.scatter_dimension_numbers.data, Reducer(op.update_computation.block)
    count, total = len(op.inputs), operand_count(op)
    vector_dim = numbers.index_vector_dim
    rank = rank_of(op.updates[0])
    index_dims = tuple(dim for dim in range(rank) if dim not in numbers.update_window_dims)

    def dims_of(shape: StaticShape, update_shape: StaticShape) -> SliceDims:
        window = iter(numbers.update_window_dims)
        missing = (*numbers.inserted_window_dims, *numbers.input_batching_dims)
        return SliceDims(
            shape=shape,
            sizes=tuple(1 if dim in missing else update_shape[next(window)] for dim in range(len(shape))),
            index_map=numbers.scatter_dims_to_operand_dims,
            batch_dims=numbers.input_batching_dims,
            index_batch_dims=_without_vector(numbers.scatter_indices_batching_dims, vector_dim),
            dropped=numbers.inserted_window_dims,
        )

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        inputs, indices, updates = arrays[:count], arrays[count], arrays[count + 1 : total]
        dims = dims_of(context.local(inputs[0]), context.local(updates[0]))
        places, inside = block_positions(context, dims, index_vectors(context, indices, vector_dim), clamp=False)
        order = (*index_dims, *numbers.update_window_dims)
        slices = tuple(update.transpose((*range(context.rank), *context.dims(order))) for update in updates)
        places = np.where(inside, places, -1)
        if order != tuple(range(rank)):
            outer_rank = rank - dims.inner_rank
            block_order = _block_order(context.local(updates[0]), order, outer_rank)
            places = _reordered(context, places, block_order, outer_rank)
            slices = tuple(_reordered(context, update, block_order, outer_rank) for update in slices)
        blocks = tuple(
            array.reshape((*context.leading(array), prod(dims.outer_shape), prod(dims.inner_shape))) for array in inputs
        )
        results = scatter_into(context, reducer, blocks, places, slices, arrays[total:])
        return tuple(result.reshape(context.leading(result) + dims.shape) for result in results)

    return kernel


def _block_order(shape: StaticShape, order: StaticShape, outer_rank: int) -> IntArray:
    """Return the order of the blocks, transposed by `order`, that follows the row-major order of the updates."""
    places = np.zeros((1,) * outer_rank, np.int64)
    for index, dim in enumerate(order[:outer_rank]):
        places = places + counted_along(index, shape[dim], outer_rank) * prod(shape[dim + 1 :])
    return np.argsort(places.reshape(-1))


def _reordered(
    context: KernelContext, blocks: NDArray[ScalarT], block_order: IntArray, outer_rank: int
) -> NDArray[ScalarT]:
    """Return the blocks, numbered by the first `outer_rank` local dims, along one dim in this order."""
    inner = context.local(blocks)[outer_rank:]
    return blocks.reshape((*context.leading(blocks), len(block_order), *inner))[
        (slice(None),) * context.rank + (block_order,)
    ]
