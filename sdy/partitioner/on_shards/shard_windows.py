"""Windows of pooling, convolutions and scattered updates on shards: which fit in one shard, and the halos of others.

A `reduce_window` whose windows extend from an end of a dim to each element is a cumulative op.

Source: docs/spec/06, 1.19 and 1.21, and 8.1 (G16, G22).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.gather_scatter import ScatterOp
from sdy.dialects.stablehlo.window import ConvolutionOp, PoolingOp, ReduceWindowOp, WindowOp
from sdy.partitioner.on_shards.index_ranges import Part, integer_ranges
from sdy.partitioner.on_shards.windows import Halo, Window, at, halo_of_kernel_shards, halo_of_shards, windows_of

HaloAlong = Callable[[int, int], "Halo | None"]


def tiles_shards(op: PoolingOp, dim: int, count: int) -> bool:
    """Return whether each window fits in one of `count` shards along `dim`, and each shard has equally many windows."""
    if count == 1:
        return True
    is_reduction = isinstance(op, ReduceWindowOp)
    size = shape_of(op.inputs[0] if is_reduction else op.operand)[dim]
    windows = shape_of(op.results[0] if is_reduction else op.source)[dim]
    window = at(op.window_dimensions, dim)
    stride = at(op.window_strides, dim)
    padding = (0, 0) if op.padding is None else op.padding.get_ints()[2 * dim : 2 * dim + 2]
    is_dilated = is_reduction and (at(op.base_dilations, dim) > 1 or window > 1 < at(op.window_dilations, dim))
    if any(padding) or is_dilated or window > stride or size % count or windows % count:
        return False
    return size // count == windows // count * stride


class ScanDirection(Enum):
    """The end of a dim from which a cumulative op combines elements."""

    FROM_FIRST = auto()
    FROM_LAST = auto()


def scan_direction(op: ReduceWindowOp, dim: int) -> ScanDirection | None:
    """Return the direction in which `op` is cumulative along `dim`, None if it is not cumulative."""
    size, window = shape_of(op.inputs[0])[dim], at(op.window_dimensions, dim)
    steps = (op.window_strides, op.base_dilations, op.window_dilations)
    if op.padding is None or window != size or any(at(each, dim) != 1 for each in steps):
        return None
    ends = {(size - 1, 0): ScanDirection.FROM_FIRST, (0, size - 1): ScanDirection.FROM_LAST}
    low, high = op.padding.get_ints()[2 * dim : 2 * dim + 2]
    return ends.get((low, high))


def halos_of(op: ConvolutionOp | ReduceWindowOp) -> HaloAlong:
    """Return a function of a dim of the input and its shard count for an op with global shapes.

    The function returns the halo with which each shard computes its shard of the result. It returns None if the op has
    no windows along the dim, if the shards of the result are not equal, or if a shard requires more than its neighbors
    hold.
    """
    return _halos(op, halo_of_shards)


def kernel_halos_of(op: ConvolutionOp) -> HaloAlong:
    """Return the like of `halos_of` for a kernel that is sharded along with the input: shards of the result are added.

    The gradient of a convolution with respect to its kernel has such a kernel, which is as large as the input.
    """
    return _halos(op, halo_of_kernel_shards)


def _halos(op: WindowOp, halo: Callable[[Window, int], Halo | None]) -> HaloAlong:
    windows = windows_of(op)
    return lambda dim, count: halo(windows[dim], count) if dim in windows else None


def pooling_halos_of(op: ReduceWindowOp) -> HaloAlong:
    """Return the like of `halos_of` for windows that overlap, have gaps between them, or begin in padding.

    The function also returns None if shards need no halo, or if an all-gather of the input sends less.
    """
    halos, sizes = halos_of(op), shape_of(op.inputs[0])
    padding = (0,) * (2 * len(sizes)) if op.padding is None else op.padding.get_ints()
    cumulative = {dim for dim in range(len(sizes)) if scan_direction(op, dim) is not None}

    def halo_along(dim: int, count: int) -> Halo | None:
        halo = None if dim in cumulative else halos(dim, count)
        if halo is None or max(0, halo.left) + max(0, halo.right) > (count - 1) * (sizes[dim] // count):
            return None
        is_tiled = halo == Halo(0, min(0, halo.right)) and not any(padding[2 * dim : 2 * dim + 2])
        return None if is_tiled else halo

    return halo_along


def window_dim_of_update(op: ScatterOp, dim: int) -> int | None:
    """Return the dim of the updates that corresponds to `dim` of the input, None if updates have no such dim."""
    numbers = op.scatter_dimension_numbers.data
    excluded = (*numbers.inserted_window_dims, *numbers.input_batching_dims)
    window_dims = [each for each in range(len(shape_of(op.inputs[0]))) if each not in excluded]
    return numbers.update_window_dims[window_dims.index(dim)] if dim in window_dims else None


def dims_covered_from_zero(op: ScatterOp) -> frozenset[int]:
    """Return the indexed dims of the input that updates cover, if their starts are known to be 0.

    Starts so far away that they move each element of an update out of bounds do so on shards too. The elements of an
    update that starts elsewhere belong to other shards.
    """
    numbers, inputs, updates = op.scatter_dimension_numbers.data, shape_of(op.inputs[0]), shape_of(op.updates[0])
    found: set[int] = set()
    for component, dim in enumerate(numbers.scatter_dims_to_operand_dims):
        window = window_dim_of_update(op, dim)
        if window is None or not updates[window] == inputs[dim] > 1:
            continue
        is_vector = numbers.index_vector_dim < len(shape_of(op.scatter_indices))
        part = Part(numbers.index_vector_dim, component) if is_vector else None
        starts = integer_ranges(op.scatter_indices, part)
        if starts is not None and all(
            each == (0, 0) or each.largest <= -inputs[dim] or each.least >= inputs[dim] for each in starts
        ):
            found.add(dim)
    return frozenset(found)
