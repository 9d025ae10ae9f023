"""Combines updates into the blocks of tensors that they name, several into one block if need be."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
from xdsl.ir import Block, BlockArgument

from sdy.interpreter.arrays.element_types import Array, compute_dtype, exact_dtype
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.kernel import Arrays, KernelContext, uniform
from sdy.interpreter.ops.conversion import converted
from sdy.interpreter.ops.reducer import Reducer


def scatter_into(
    context: KernelContext, reducer: Reducer, blocks: Arrays, places: IntArray, updates: Arrays, captured: Arrays
) -> Arrays:
    """The tensors, each given as `(blocks, elements of a block)`, with the updates combined into them.

    `places` says for each update, in the order of its leading local dims, which block it goes to; -1 for none. Updates
    of one block are combined in this order.
    """
    leading = np.broadcast_shapes(*(context.leading(array) for array in (*blocks, places, *updates)))
    copies, (count, size) = prod(leading), context.local(blocks[0])
    per_copy = prod(context.local(places))
    # All devices have their blocks one after the other; an update of no block goes to an extra one at the end.
    rows = np.broadcast_to(places, leading + context.local(places)).reshape(copies, per_copy)
    first = np.arange(copies).reshape(copies, 1) * count
    targets = np.where(rows < 0, copies * count, rows + first).reshape(-1)
    state = tuple(
        converted(np.broadcast_to(array, (*leading, count, size)).reshape(copies * count, size), dtype)
        for array, dtype in zip(blocks, reducer.dtypes, strict=True)
    )
    news = tuple(
        converted(np.broadcast_to(array, leading + context.local(array)).reshape(copies * per_copy, size), dtype)
        for array, dtype in zip(updates, reducer.dtypes, strict=True)
    )
    shared = tuple(uniform(context, value, "a value that the update uses") for value in captured)
    alone = replace(context, batch=(), grid=None)
    results = _combined(alone, reducer, state, targets, news, shared)
    return tuple(result.reshape((*leading, count, size)) for result in results)


def _combined(
    context: KernelContext, reducer: Reducer, state: Arrays, targets: IntArray, news: Arrays, captured: Arrays
) -> Arrays:
    """`state` with the rows `news` combined into its rows `targets`; a target past the end is none."""
    state = tuple(array.copy() for array in state)
    kept = np.flatnonzero(targets < len(state[0]))
    order = kept[np.argsort(targets[kept], kind="stable")]
    if not len(order):
        return state
    targets, news = targets[order], tuple(new[order] for new in news)
    firsts = np.flatnonzero(np.diff(targets, prepend=-1))  # where the updates of another row begin
    if reducer.folds is not None and len(firsts) < len(targets):
        targets, news = targets[firsts], _folded(reducer, news, firsts)
    elif _keeps_new(reducer.block):
        lasts = np.append(firsts[1:], len(targets)) - 1
        _write(state, targets[lasts], tuple(new[lasts] for new in news))
        return state
    _combine_in_rounds(context, reducer, state, targets, news, captured)
    return state


def _combine_in_rounds(
    context: KernelContext, reducer: Reducer, state: Arrays, targets: IntArray, news: Arrays, captured: Arrays
) -> None:
    """Into `state` the first update of every row, then the second of those that have one, and so on."""
    firsts = np.flatnonzero(np.diff(targets, prepend=-1))
    ranks = np.arange(len(targets)) - np.repeat(firsts, np.diff(np.append(firsts, len(targets))))
    for turn in range(int(ranks.max(initial=-1)) + 1):
        chosen = np.flatnonzero(ranks == turn)
        rows = targets[chosen]
        old = tuple(array[rows] for array in state)
        _write(state, rows, reducer.combined(context, old, tuple(new[chosen] for new in news), captured))


def _write(state: Arrays, rows: IntArray, values: Arrays) -> None:
    for array, value in zip(state, values, strict=True):
        array[rows] = value


def _folded(reducer: Reducer, news: Arrays, firsts: IntArray) -> Arrays:
    """The updates of each row folded to one, by functions that NumPy knows."""
    assert reducer.folds is not None
    results: list[Array] = []
    for fold, new in zip(reducer.folds, news, strict=True):
        wide = exact_dtype(new.dtype) if fold.ufunc in (np.add, np.multiply) else compute_dtype(new.dtype)
        results.append(fold.ufunc.reduceat(new.astype(wide), firsts, axis=0).astype(new.dtype))
    return tuple(results)


def _keeps_new(block: Block) -> bool:
    """Whether the region gives the new elements as they are."""
    terminator = block.last_op
    count = len(block.args) // 2
    return terminator is not None and all(
        isinstance(result, BlockArgument) and result is block.args[count + index]
        for index, result in enumerate(terminator.operands)
    )
