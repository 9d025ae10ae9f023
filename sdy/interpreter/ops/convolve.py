"""Compute convolutions as matrix products: a row per window of the input, a column per output feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdy.dialects.stablehlo.syntax.dot_clauses import ConvDimensionNumbers
from sdy.interpreter.arrays.element_types import Array, DType
from sdy.interpreter.kernel import KernelContext
from sdy.interpreter.ops.contract import ContractedDims, contracted
from sdy.interpreter.ops.moving_window import MovingWindow
from sdy.model.shape import StaticShape


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
