"""Windows of convolutions and pooling along one dim, and the halos with which shards compute shards of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm

from xdsl.ir import Attribute

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.dialects.stablehlo.window import ConvolutionOp, PoolingOp, ReduceWindowOp, WindowOp


@dataclass(frozen=True, slots=True)
class Window:
    """The windows of an op along one dim of its input: sizes, distances between elements, and the padding.

    A `select_and_scatter` has no result for each window: its `results` are the elements of the source that it scatters.
    """

    size: int
    kernel: int
    results: int
    stride: int
    gap: int  # between elements of the input
    step: int  # between elements of the kernel
    low: int
    high: int
    is_reversed: bool
    result_dim: int
    kernel_dim: int | None = None  # of a convolution

    @property
    def is_pointwise(self) -> bool:
        """Return whether each result is computed from one element, the one at its index."""
        return (self.kernel, self.stride, self.gap, self.low, self.high) == (1, 1, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class Halo:
    """The number of elements that a shard requires of its left and right neighbors; negative if it drops elements.

    `low` and `high` pad the shard with its halo. They are not 0 only if zeros are between the elements of the input.
    """

    left: int
    right: int
    low: int = 0
    high: int = 0


def windows_of(op: WindowOp) -> dict[int, Window]:
    """Return the windows along the spatial dims of the input of a convolution, or along all dims of other inputs."""
    return _of_convolution(op) if isinstance(op, ConvolutionOp) else _of_all_dims(op)


def _of_convolution(op: ConvolutionOp) -> dict[int, Window]:
    numbers = op.dimension_numbers.data
    spatial = zip(
        numbers.input_spatial_dimensions,
        numbers.kernel_spatial_dimensions,
        numbers.output_spatial_dimensions,
        strict=True,
    )
    padding = _padding(op.padding, len(numbers.input_spatial_dimensions))
    return {
        dim: Window(
            size=shape_of(op.lhs)[dim],
            kernel=shape_of(op.rhs)[kernel_dim],
            results=shape_of(op.result)[result_dim],
            stride=at(op.window_strides, index),
            gap=at(op.lhs_dilation, index),
            step=at(op.rhs_dilation, index),
            low=padding[2 * index],
            high=padding[2 * index + 1],
            is_reversed=op.window_reversal is not None and bool(ints_of(op.window_reversal)[index]),
            result_dim=result_dim,
            kernel_dim=kernel_dim,
        )
        for index, (dim, kernel_dim, result_dim) in enumerate(spatial)
    }


def _of_all_dims(op: PoolingOp) -> dict[int, Window]:
    is_pooling = isinstance(op, ReduceWindowOp)
    sizes, results = shape_of(op.operands[0]), shape_of(op.results[0] if is_pooling else op.source)
    gaps, steps = (op.base_dilations, op.window_dilations) if is_pooling else (None, None)
    padding = _padding(op.padding, len(sizes))
    return {
        dim: Window(
            size=size,
            kernel=at(op.window_dimensions, dim),
            results=results[dim],
            stride=at(op.window_strides, dim),
            gap=at(gaps, dim),
            step=at(steps, dim),
            low=padding[2 * dim],
            high=padding[2 * dim + 1],
            is_reversed=False,
            result_dim=dim,
        )
        for dim, size in enumerate(sizes)
    }


def halo_of_shards(window: Window, count: int) -> Halo | None:
    """Return the halo with which each of `count` shards of the input computes its shard of the result.

    Return None if shards are not equal, or if they require more than their neighbors hold.
    """
    if window.size % count or window.results % count:
        return None
    shard, results = window.size // count, window.results // count
    if shard * window.gap != results * window.stride:
        return None
    return _halo(shard, (results - 1) * window.stride + (window.kernel - 1) * window.step + 1, window)


def halo_of_kernel_shards(window: Window, count: int) -> Halo | None:
    """Return the halo with which shards of the input and of the kernel compute contributions to the result, or None."""
    if window.is_reversed or window.gap > 1 or window.size % count or window.kernel % count:
        return None
    shard, kernel = window.size // count, window.kernel // count
    if shard != kernel * window.step:
        return None
    return _halo(shard, (window.results - 1) * window.stride + (kernel - 1) * window.step + 1, window)


def with_equal_shards(window: Window, count: int) -> Window | None:
    """Return windows that `count` shards can compute: with more results at the end, on an input with more elements.

    The first results are those of `window`; the new elements are padding. Return None if shards can compute `window`
    itself, or if they would require more than their neighbors hold.
    """
    extent = max(window.size * window.gap, window.results * window.stride)
    extent = _next_multiple(extent, count * lcm(window.gap, window.stride))
    found = _reading_all(replace(window, size=extent // window.gap, results=extent // window.stride))
    is_equal = (found.size, found.results) == (window.size, window.results)
    return None if is_equal or halo_of_shards(found, count) is None else found


def with_equal_kernel_shards(window: Window, count: int) -> Window | None:
    """Return the like of `with_equal_shards` for shards of the input and of the kernel, which gets zeros at its end."""
    extent = _next_multiple(max(window.size, window.kernel * window.step), count * window.step)
    found = _reading_all(replace(window, size=extent, kernel=extent // window.step))
    is_equal = (found.size, found.kernel) == (window.size, window.kernel)
    return None if is_equal or halo_of_kernel_shards(found, count) is None else found


def with_equal_tiles(window: Window, count: int) -> Window | None:
    """Return the like of `with_equal_shards` for windows that are each in one shard: they are not padded, nor overlap.

    The elements that `window` covers stay the same. The new windows, at the end, cover others, or a few that it drops.
    """
    end = (window.results - 1) * window.stride + window.kernel
    if window.low or window.kernel > window.stride or end > window.size:
        return None
    extent = _next_multiple(max(window.size, window.results * window.stride), count * window.stride)
    found = replace(window, size=extent, results=extent // window.stride, high=0)
    is_equal = (found.size, found.results) == (window.size, window.results)
    return None if is_equal else found


def _reading_all(window: Window) -> Window:
    """Return the windows with the padding at the end that gives as many results as they have."""
    end = (window.results - 1) * window.stride + (window.kernel - 1) * window.step
    return replace(window, high=end - window.low - (window.size - 1) * window.gap)


def _next_multiple(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def _halo(shard: int, span: int, window: Window) -> Halo | None:
    """Return the halo of shards that each require `span` positions; None if it extends beyond the next shard."""
    end = span - 1 - window.low  # the last position, from the first element of the own shard
    left, right = window.low // window.gap, end // window.gap - (shard - 1)
    if not -shard < min(left, right) <= max(left, right) <= shard:
        return None
    low = window.low - left * window.gap
    return Halo(left, right, low, end % window.gap)


def at(values: Attribute | None, index: int) -> int:
    """Return one of the strides or dilations of an op, which are 1 if it has none."""
    return 1 if values is None else ints_of(values)[index]


def _padding(padding: DenseElementsAttr | None, count: int) -> Sequence[int]:
    return (0,) * (2 * count) if padding is None else padding.get_ints()
