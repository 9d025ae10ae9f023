"""Whether the windows of pooling, and of scattered updates, lie within one shard each; how far others reach beyond.

Windows that reach from an end of a dim to each element are those of running sums, products and extremes.

Source: docs/spec/06, 1.19 and 1.21, and 8.1 (G16, G22).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from xdsl.ir import Attribute

from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.gather_scatter import ScatterOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.dialects.stablehlo.window import ConvolutionOp, ReduceWindowOp, SelectAndScatterOp

PoolingOp = ReduceWindowOp | SelectAndScatterOp
HaloAlong = Callable[[int, int], "Halo | None"]


def tiles_shards(op: PoolingOp, dim: int, count: int) -> bool:
    """Whether each of `count` shards along `dim` is covered by windows of its own, and no window by several shards."""
    if count == 1:
        return True
    is_reduction = isinstance(op, ReduceWindowOp)
    size = shape_of(op.inputs[0] if is_reduction else op.operand)[dim]
    windows = shape_of(op.results[0] if is_reduction else op.source)[dim]
    window = _at(op.window_dimensions, dim)
    stride = _at(op.window_strides, dim)
    padding = (0, 0) if op.padding is None else op.padding.get_ints()[2 * dim : 2 * dim + 2]
    is_dilated = is_reduction and (_at(op.base_dilations, dim) > 1 or window > 1 < _at(op.window_dilations, dim))
    if any(padding) or is_dilated or window > stride or size % count or windows % count:
        return False
    return size // count == windows // count * stride


class Running(Enum):
    """From which end of a dim on its elements are folded up to each of them."""

    FROM_FIRST = auto()
    FROM_LAST = auto()


def scan_direction(op: ReduceWindowOp, dim: int) -> Running | None:
    """The end from which the windows reach to each element along `dim`; None where they do not."""
    size, window = shape_of(op.inputs[0])[dim], _at(op.window_dimensions, dim)
    steps = (op.window_strides, op.base_dilations, op.window_dilations)
    if op.padding is None or window != size or any(_at(each, dim) != 1 for each in steps):
        return None
    ends = {(size - 1, 0): Running.FROM_FIRST, (0, size - 1): Running.FROM_LAST}
    low, high = op.padding.get_ints()[2 * dim : 2 * dim + 2]
    return ends.get((low, high))


@dataclass(frozen=True, slots=True)
class Halo:
    """How many elements each shard needs of its left and of its right neighbour; negative: how many it drops."""

    left: int
    right: int


def halos_of(op: ConvolutionOp) -> HaloAlong:
    """Of an op with whole tensors, a function of a dim of its input and of the number of its shards.

    It tells what shards need of each other so that each computes its part of the result; None where the dim is no
    spatial one, or the parts are not equal, or some need more than their neighbours have.
    """
    numbers = op.dimension_numbers.data
    sizes, kernel, windows = shape_of(op.lhs), shape_of(op.rhs), shape_of(op.result)

    def halo_along(dim: int, count: int) -> Halo | None:
        if dim not in numbers.input_spatial_dimensions:
            return None
        place = numbers.input_spatial_dimensions.index(dim)
        parts, stride = windows[numbers.output_spatial_dimensions[place]], _at(op.window_strides, place)
        shard = sizes[dim] // count
        is_even = sizes[dim] % count == 0 and parts % count == 0 and shard == parts // count * stride
        if not is_even or _at(op.lhs_dilation, place) > 1:
            return None
        window = (kernel[numbers.kernel_spatial_dimensions[place]] - 1) * _at(op.rhs_dilation, place) + 1
        low = 0 if op.padding is None else op.padding.get_ints()[2 * place]
        halo = Halo(low, window - stride - low)
        return halo if -shard < min(halo.left, halo.right) and max(halo.left, halo.right) <= shard else None

    return halo_along


def _at(values: Attribute | None, dim: int) -> int:
    return 1 if values is None else ints_of(values)[dim]


def window_dim_of_update(op: ScatterOp, dim: int) -> int | None:
    """The dim of an update whose elements go along `dim` of the input; None where an update covers one place of it."""
    numbers = op.scatter_dimension_numbers.data
    without = (*numbers.inserted_window_dims, *numbers.input_batching_dims)
    windowed = [each for each in range(len(shape_of(op.inputs[0]))) if each not in without]
    return numbers.update_window_dims[windowed.index(dim)] if dim in windowed else None
