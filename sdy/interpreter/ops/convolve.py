"""Convolutions as matrix products: every window of the input is a row, every output feature of the kernel a column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdy.dialects.stablehlo.syntax.conv_numbers import ConvDimensionNumbers
from sdy.interpreter.arrays.element_types import Array, DType
from sdy.interpreter.kernel import KernelContext, Shape
from sdy.interpreter.ops.contract import ContractedDims, contracted
from sdy.interpreter.ops.moving_window import Window


@dataclass(frozen=True, slots=True)
class Convolution:
    """All that describes a convolution but its padding.

    `feature_groups` cuts input features and output features alike, and group i of the one feeds group i of the other;
    `batch_groups` cuts the batch and the output features in the same way.
    """

    numbers: ConvDimensionNumbers
    strides: Shape
    lhs_dilations: Shape
    rhs_dilations: Shape
    reversed_dims: Shape
    feature_groups: int
    batch_groups: int
    dtype: DType

    @property
    def spatial_rank(self) -> int:
        """How many dims the window moves along."""
        return len(self.numbers.kernel_spatial_dimensions)

    def computed(self, context: KernelContext, lhs: Array, rhs: Array, padding: Shape) -> Array:
        """The output; `padding` holds the amounts before and after each spatial dim in turn."""
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
        """Group, output feature of the group, input feature, spatial dims."""
        numbers = self.numbers
        order = (
            numbers.kernel_output_feature_dimension,
            numbers.kernel_input_feature_dimension,
            *numbers.kernel_spatial_dimensions,
        )
        ordered = rhs.transpose((*range(context.rank), *context.dims(order)))
        ordered = np.flip(ordered, context.dims([2 + dim for dim in self.reversed_dims]))
        return _cut(ordered, context.rank, self.feature_groups * self.batch_groups)

    def _windows(self, context: KernelContext, lhs: Array, sizes: Shape, padding: Shape) -> Array:
        """Group, batch, feature of the group, window positions, offsets within the window."""
        numbers = self.numbers
        order = (
            numbers.input_batch_dimension,
            numbers.input_feature_dimension,
            *numbers.input_spatial_dimensions,
        )
        ordered = lhs.transpose((*range(context.rank), *context.dims(order)))
        if self.batch_groups > 1:
            grouped = _cut(ordered, context.rank, self.batch_groups)
        else:
            grouped = np.moveaxis(_cut(ordered, context.rank + 1, self.feature_groups), context.rank + 1, context.rank)
        none, one = (0, 0, 0), (1, 1, 1)
        window = Window(
            sizes=one + sizes,
            strides=one + self.strides,
            low=none + padding[::2],
            high=none + padding[1::2],
            base_dilations=one + self.lhs_dilations,
            window_dilations=one + self.rhs_dilations,
        )
        placed = window.placed_on(context, grouped, context.replicated(np.zeros((), lhs.dtype)))
        # The window has size 1 along group, batch and feature: these offsets go away.
        first_offset = context.rank + 3 + self.spatial_rank
        return placed[(slice(None),) * first_offset + (0, 0, 0)]

    def _output(self, context: KernelContext, product: Array) -> Array:
        """From group, batch, positions and output feature of the group to the dims of the result."""
        rank, last = context.rank, product.ndim - 1
        moved = np.moveaxis(product, rank, last - 1)
        features = moved.shape[-2] * moved.shape[-1]
        merged = moved.reshape((*moved.shape[:-2], features))
        numbers = self.numbers
        places = {numbers.output_batch_dimension: 0, numbers.output_feature_dimension: 1 + self.spatial_rank}
        places |= {dim: 1 + index for index, dim in enumerate(numbers.output_spatial_dimensions)}
        return merged.transpose((*range(rank), *context.dims([places[dim] for dim in sorted(places)])))


def _cut(array: Array, place: int, count: int) -> Array:
    """The array with dim `place` cut into `count` parts, which come first."""
    return array.reshape((*array.shape[:place], count, array.shape[place] // count, *array.shape[place + 1 :]))
