"""Kernels of reduce_window, select_and_scatter and convolutions.

A convolution is computed as matrix products: a row per window of the input, a column per output feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided
from xdsl.ir import Attribute

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo import window as ops
from sdy.dialects.stablehlo.attributes.types import rank_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.dialects.stablehlo.syntax.dot_clauses import ConvDimensionNumbers
from sdy.interpreter.arrays.element_types import Array, DType, dtype_of_type
from sdy.interpreter.devices.grid import IntArray
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable, uniform
from sdy.interpreter.ops.contract import ContractedDims, contracted
from sdy.interpreter.ops.gather_scatter import scatter_into
from sdy.interpreter.ops.reduction import Reducer
from sdy.interpreter.ops.slicing import padded
from sdy.model.shape import StaticShape


@dataclass(frozen=True, slots=True)
class MovingWindow:
    """A window per dim: its size, stride and dilation, and the padding and dilation of the tensor."""

    sizes: StaticShape
    strides: StaticShape
    low: StaticShape
    high: StaticShape
    base_dilations: StaticShape
    window_dilations: StaticShape

    def over(self, context: KernelContext, operand: Array, padding: Array) -> Array:
        """Return a view of the padded tensor: positions of the window, then elements in the window."""
        gaps = tuple(dilation - 1 for dilation in self.base_dilations)
        return self.views(context, padded(context, operand, padding, self.low, self.high, gaps))

    def views(self, context: KernelContext, padded: Array) -> Array:
        """Return the same view of a tensor that is already padded."""
        spans = [(size - 1) * gap + 1 for size, gap in zip(self.sizes, self.window_dilations, strict=True)]
        free = [size - span for size, span in zip(context.local(padded), spans, strict=True)]
        counts = tuple(room // step + 1 if room >= 0 else 0 for room, step in zip(free, self.strides, strict=True))
        steps = padded.strides[context.rank :]
        by_position = tuple(stride * step for stride, step in zip(steps, self.strides, strict=True))
        within = tuple(stride * gap for stride, gap in zip(steps, self.window_dilations, strict=True))
        # As raw bytes, because `as_strided` does not support every dtype of ml_dtypes.
        views = as_strided(
            padded.view(f"V{padded.itemsize}"),
            context.leading(padded) + counts + self.sizes,
            padded.strides[: context.rank] + by_position + within,
            writeable=False,
        )
        return views.view(padded.dtype)


def window_of(
    sizes: StaticShape,
    strides: Attribute | None,
    padding: DenseElementsAttr | None,
    base_dilations: Attribute | None = None,
    window_dilations: Attribute | None = None,
) -> MovingWindow:
    """Return the window of an op's properties; missing ones are 1, or no padding."""
    ones = (1,) * len(sizes)
    amounts = (0,) * (2 * len(sizes)) if padding is None else padding.get_ints()
    return MovingWindow(
        sizes,
        ones if strides is None else ints_of(strides),
        amounts[::2],
        amounts[1::2],
        ones if base_dilations is None else ints_of(base_dilations),
        ones if window_dilations is None else ints_of(window_dilations),
    )


@dataclass(frozen=True, slots=True)
class Convolution:
    """The parameters of a convolution, except its padding.

    `feature_groups` splits input and output features equally, and group i of the input feeds group i of the output;
    `batch_groups` splits the batch and the output features in the same way.
    """

    numbers: ConvDimensionNumbers
    strides: StaticShape
    lhs_dilations: StaticShape
    rhs_dilations: StaticShape
    reversed_dims: StaticShape
    feature_groups: int
    batch_groups: int
    dtype: DType

    @property
    def spatial_rank(self) -> int:
        """The number of dims that the window moves along."""
        return len(self.numbers.kernel_spatial_dimensions)

    def computed(self, context: KernelContext, lhs: Array, rhs: Array, padding: StaticShape) -> Array:
        """Return the output; `padding` lists low and high padding of each spatial dim in turn."""
        kernel = self._kernel(context, rhs)
        windows = self._windows(context, lhs, context.local(kernel)[3:], padding)
        spatial = self.spatial_rank
        # windows: group, batch, feature, positions, offsets. kernel: group, output feature, feature, offsets.
        dims = ContractedDims(
            lhs_batch=(0,),
            rhs_batch=(0,),
            lhs_summed=(2, *range(3 + spatial, 3 + 2 * spatial)),
            rhs_summed=(2, *range(3, 3 + spatial)),
        )
        product = contracted(context, windows, kernel, dims, self.dtype)
        return self._output(context, product)

    def _kernel(self, context: KernelContext, rhs: Array) -> Array:
        """Return the kernel with the dims: group, output feature of the group, input feature, spatial dims."""
        numbers = self.numbers
        order = (
            numbers.kernel_output_feature_dimension,
            numbers.kernel_input_feature_dimension,
            *numbers.kernel_spatial_dimensions,
        )
        ordered = rhs.transpose((*range(context.rank), *context.dims(order)))
        ordered = np.flip(ordered, context.dims([2 + dim for dim in self.reversed_dims]))
        return _split(ordered, context.rank, self.feature_groups * self.batch_groups)

    def _windows(self, context: KernelContext, lhs: Array, sizes: StaticShape, padding: StaticShape) -> Array:
        """Return the windows with the dims: group, batch, feature of the group, positions, offsets in the window."""
        numbers = self.numbers
        order = (
            numbers.input_batch_dimension,
            numbers.input_feature_dimension,
            *numbers.input_spatial_dimensions,
        )
        ordered = lhs.transpose((*range(context.rank), *context.dims(order)))
        if self.batch_groups > 1:
            grouped = _split(ordered, context.rank, self.batch_groups)
        else:
            grouped = np.moveaxis(
                _split(ordered, context.rank + 1, self.feature_groups), context.rank + 1, context.rank
            )
        none, one = (0, 0, 0), (1, 1, 1)
        window = MovingWindow(
            sizes=one + sizes,
            strides=one + self.strides,
            low=none + padding[::2],
            high=none + padding[1::2],
            base_dilations=one + self.lhs_dilations,
            window_dilations=one + self.rhs_dilations,
        )
        placed = window.over(context, grouped, context.replicated(np.zeros((), lhs.dtype)))
        # The window has size 1 along group, batch and feature, so these offsets are dropped.
        first_offset = context.rank + 3 + self.spatial_rank
        return placed[(slice(None),) * first_offset + (0, 0, 0)]

    def _output(self, context: KernelContext, product: Array) -> Array:
        """Transpose group, batch, positions and output feature of the group to the dims of the result."""
        rank, last = context.rank, product.ndim - 1
        moved = np.moveaxis(product, rank, last - 1)
        features = moved.shape[-2] * moved.shape[-1]
        merged = moved.reshape((*moved.shape[:-2], features))
        numbers = self.numbers
        places = {numbers.output_batch_dimension: 0, numbers.output_feature_dimension: 1 + self.spatial_rank}
        places |= {dim: 1 + index for index, dim in enumerate(numbers.output_spatial_dimensions)}
        return merged.transpose((*range(rank), *context.dims([places[dim] for dim in sorted(places)])))


def _split(array: Array, dim: int, count: int) -> Array:
    """Return the array with `dim` split into `count` groups, which a new first dim numbers."""
    return array.reshape((*array.shape[:dim], count, array.shape[dim] // count, *array.shape[dim + 1 :]))


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
