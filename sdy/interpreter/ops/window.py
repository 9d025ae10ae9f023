"""Kernels of reduce_window, select_and_scatter and convolutions."""

from __future__ import annotations

from math import prod

import numpy as np

from sdy.dialects.stablehlo import window as ops
from sdy.dialects.stablehlo.attributes.types import rank_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.interpreter.arrays.element_types import Array, dtype_of_type
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, uniform
from sdy.interpreter.ops.convolve import Convolution
from sdy.interpreter.ops.moving_window import MovingWindow, window_of
from sdy.interpreter.ops.reducer import Reducer
from sdy.interpreter.ops.scatter_blocks import scatter_into
from sdy.model.shape import StaticShape

KERNELS = KernelTable()


@KERNELS.of(ops.ReduceWindowOp)
def reduce_window(op: ops.ReduceWindowOp) -> Kernel:
    """Reduce the elements of each window, starting from the init values, which also pad."""
    window = window_of(
        ints_of(op.window_dimensions), op.window_strides, op.padding, op.base_dilations, op.window_dilations
    )
    reducer, rank = Reducer(op.body.block), len(window.sizes)
    count = reducer.count

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        inputs, inits = arrays[:count], arrays[count : 2 * count]
        views = tuple(window.over(context, *pair) for pair in zip(inputs, inits, strict=True))
        return reducer.fold_in_order(context, views, inits, rank, arrays[2 * count :])

    return kernel


@KERNELS.of(ops.SelectAndScatterOp)
def select_and_scatter(op: ops.SelectAndScatterOp) -> Kernel:
    """Combine each element of `source` into the position of its window that `select` chooses."""
    rank = rank_of(op.operand)
    sizes = (1,) * rank if op.window_dimensions is None else ints_of(op.window_dimensions)
    window = window_of(sizes, op.window_strides, op.padding)
    select, scatter = Reducer(op.select.block), Reducer(op.scatter.block)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        operand, source, init, *rest = arrays
        captured = tuple(rest)
        shape = context.local(operand)
        places = _selected(context, window, select, operand, captured)
        total = prod(shape)
        start = np.broadcast_to(init.reshape((*init.shape, 1, 1)), (*init.shape, total, 1))
        updates = source[..., np.newaxis]
        (result,) = scatter_into(context, scatter, (start,), places, (updates,), captured)
        return (result.reshape(context.leading(result) + shape),)

    return kernel


def _selected(
    context: KernelContext, window: MovingWindow, select: Reducer, operand: Array, captured: Arrays
) -> IntArray:
    """Return for each window the row-major position in the operand of the element that `select` chooses.

    Elements are compared in order with the one chosen so far. Padding is skipped; -1 means that no element was chosen.
    """
    shape = context.local(operand)
    numbers = context.replicated(np.arange(prod(shape)).reshape(shape))
    values = window.over(context, operand, context.replicated(np.zeros((), operand.dtype)))
    indices = window.over(context, numbers, context.replicated(np.array(-1)))
    rank = len(shape)
    best_value = values[(..., *(0 for _ in range(rank)))]
    best_index: IntArray = np.broadcast_to(indices[(..., *(0 for _ in range(rank)))], best_value.shape).astype(np.int64)
    for place in list(np.ndindex(*window.sizes))[1:]:
        value, index = values[(..., *place)], indices[(..., *place)].astype(np.int64)
        (keeps,) = select.combined(context, (best_value,), (value,), captured)
        takes = ((best_index < 0) | ~keeps.astype(np.bool_)) & (index >= 0)
        best_value = np.where(takes, value, best_value)
        best_index = np.where(takes, index, best_index)
    return best_index


@KERNELS.of(ops.ConvolutionOp)
def convolution(op: ops.ConvolutionOp) -> Kernel:
    """Convolve the input with the kernel."""
    described = _convolution_of(op)
    amounts = (0,) * (2 * described.spatial_rank) if op.padding is None else op.padding.get_ints()
    return lambda context, arrays: (described.computed(context, arrays[0], arrays[1], amounts),)


@KERNELS.of(ops.DynamicConvOp)
def dynamic_conv(op: ops.DynamicConvOp) -> Kernel:
    """Convolve with padding that is an operand."""
    described = _convolution_of(op)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        lhs, rhs, padding = arrays
        amounts = tuple(uniform(context, padding, "the padding").reshape(-1).tolist())
        return (described.computed(context, lhs, rhs, amounts),)

    return kernel


def _convolution_of(op: ops.ConvolutionOp | ops.DynamicConvOp) -> Convolution:
    numbers = op.dimension_numbers.data
    ones = (1,) * len(numbers.kernel_spatial_dimensions)
    return Convolution(
        numbers,
        strides=ones if op.window_strides is None else ints_of(op.window_strides),
        lhs_dilations=ones if op.lhs_dilation is None else ints_of(op.lhs_dilation),
        rhs_dilations=ones if op.rhs_dilation is None else ints_of(op.rhs_dilation),
        reversed_dims=() if op.window_reversal is None else _set_positions(ints_of(op.window_reversal)),
        feature_groups=op.feature_group_count.value.data,
        batch_groups=op.batch_group_count.value.data,
        dtype=dtype_of_type(op.result.type),
    )


def _set_positions(flags: StaticShape) -> StaticShape:
    return tuple(place for place, flag in enumerate(flags) if flag)
