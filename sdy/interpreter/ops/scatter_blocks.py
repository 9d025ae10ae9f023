"""Combine updates into blocks of tensors; several updates may go into one block."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
from xdsl.ir import Block, BlockArgument

from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.kernel import Arrays, KernelContext, uniform
from sdy.interpreter.ops.conversion import converted
from sdy.interpreter.ops.reduction import Reducer
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
