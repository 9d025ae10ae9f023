"""A whole tensor and its shards: what a tensor sharding puts on every device, and how the shards make the tensor again.

A dim cut into `p` pieces has `ceil(size / p)` elements on every device; the tensor is padded at the end to `p` times
this. Piece `i` lies on the devices whose coordinates along the axes of the dim, major first, spell `i`.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

import numpy as np

from sdy.interpreter.arrays.element_types import Array, is_float
from sdy.interpreter.devices.grid import Grid, axes_of_ref, grid_of_mesh
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.model.axis import AxisList, AxisRef
from sdy.model.mesh import Mesh
from sdy.model.sharding import ReductionKind, TensorSharding


def shard(array: Array, sharding: TensorSharding, mesh: Mesh) -> DeviceArray:
    """The shards of `array` on the devices of `mesh`; padding is 0.

    Along axes it is unreduced on, a sum is all on the first device and 0 on the others, a maximum or minimum is
    everywhere. Raises: ValueError where rank of array and sharding differ.
    """
    grid = grid_of_mesh(mesh, sharding.axis_refs())
    dim_axes = _dim_axes(grid, sharding, mesh, array.ndim)
    pieces = [prod(grid.sizes[axis] for axis in axes) for axes in dim_axes]
    local = tuple(-(-size // count) for size, count in zip(array.shape, pieces, strict=True))
    padding = [(0, size * count - whole) for size, count, whole in zip(local, pieces, array.shape, strict=True)]
    padded = np.pad(array, padding) if any(after for _, after in padding) else array

    cut_shape: list[int] = []
    place_of_axis: dict[int, int] = {}
    local_places: list[int] = []
    for axes, size in zip(dim_axes, local, strict=True):
        place_of_axis |= {axis: len(cut_shape) + place for place, axis in enumerate(axes)}
        local_places.append(len(cut_shape) + len(axes))
        cut_shape += [*(grid.sizes[axis] for axis in axes), size]
    order = [*(place_of_axis[axis] for axis in sorted(place_of_axis)), *local_places]
    leading = tuple(grid.sizes[axis] if axis in place_of_axis else 1 for axis in range(grid.rank))
    shards = padded.reshape(cut_shape).transpose(order).reshape(leading + local)
    if sharding.unreduced_kind is ReductionKind.SUM:
        shards = _only_on_first(shards, grid, _axes(grid, sharding.unreduced, mesh))
    return DeviceArray(shards, grid)


def unshard(value: DeviceArray, sharding: TensorSharding, mesh: Mesh, shape: tuple[int, ...]) -> Array:
    """The tensor of shape `shape` whose shards are `value`, without the padding.

    Partial values along unreduced axes are combined; along other axes that no dim uses, the first device counts.
    Raises: ValueError where the local shape is not that of the shards.
    """
    grid = grid_of_mesh(mesh, sharding.axis_refs())
    dim_axes = _dim_axes(grid, sharding, mesh, len(shape))
    pieces = [prod(grid.sizes[axis] for axis in axes) for axes in dim_axes]
    local = tuple(-(-size // count) for size, count in zip(shape, pieces, strict=True))
    if value.local_shape != local:
        raise ValueError(f"shards of a {shape} tensor have the shape {local}, not {value.local_shape}")
    array = _combined(regridded(value, grid).array, grid, sharding, mesh)
    used = sorted(axis for axes in dim_axes for axis in axes)
    array = array[tuple(slice(None) if axis in used else 0 for axis in range(grid.rank))]
    array = np.broadcast_to(array, tuple(grid.sizes[axis] for axis in used) + local)

    order: list[int] = []
    for dim, axes in enumerate(dim_axes):
        order += [*(used.index(axis) for axis in axes), len(used) + dim]
    padded = tuple(size * count for size, count in zip(local, pieces, strict=True))
    return array.transpose(order).reshape(padded)[tuple(slice(size) for size in shape)]


def shard_of_each(value: DeviceArray, sharding: TensorSharding, mesh: Mesh) -> DeviceArray:
    """The shards of the tensors that the devices of `mesh` hold whole: each device keeps its part of its own.

    As `shard` where all devices hold the same. Raises: as `shard`.
    """
    grid = grid_of_mesh(mesh, sharding.axis_refs())
    array = regridded(value, grid).array
    for dim, axes in enumerate(_dim_axes(grid, sharding, mesh, len(value.local_shape)), start=grid.rank):
        pieces = prod(grid.sizes[axis] for axis in axes)
        after = -array.shape[dim] % pieces
        if after:
            array = np.pad(array, [(0, after if place == dim else 0) for place in range(array.ndim)])
        for axis in axes:
            array = _own_piece(array, axis, dim, grid.sizes[axis])
    if sharding.unreduced_kind is ReductionKind.SUM:
        array = _only_on_first(array, grid, _axes(grid, sharding.unreduced, mesh))
    return DeviceArray(array, grid)


def whole_of_each(
    value: DeviceArray, sharding: TensorSharding, mesh: Mesh, shape: tuple[int, ...], axis_names: Collection[str]
) -> DeviceArray:
    """The tensors of shape `shape` whose shards the devices hold that differ along the axes of these names only.

    As `unshard` where these are all axes of `mesh`; the result varies along the others.
    """
    names = [axis.name for axis in mesh.axes if axis.name in axis_names]
    grid = grid_of_mesh(mesh, sharding.axis_refs())
    array = _combined(regridded(value, grid).array, grid, sharding, mesh)
    joined: set[int] = set()
    for dim, axes in enumerate(_dim_axes(grid, sharding, mesh, len(shape)), start=grid.rank):
        joined.update(axes)
        for axis in reversed(axes):
            array = _joined_pieces(array, axis, dim, grid.sizes[axis])
        array = array[(slice(None),) * dim + (slice(shape[dim - grid.rank]),)]
    for axis in set(_axes(grid, tuple(map(AxisRef, names)), mesh)) - joined:
        array = array[(slice(None),) * axis + (slice(1),)]
    return DeviceArray(array, grid)


def _own_piece(array: Array, axis: int, dim: int, count: int) -> Array:
    """The array cut along `dim` into `count` pieces, of which each position of the batch dim `axis` has its own."""
    shape = array.shape
    pieces = array.reshape((*shape[:dim], count, shape[dim] // count, *shape[dim + 1 :]))
    if shape[axis] == 1:
        return np.moveaxis(pieces, dim, axis).squeeze(axis + 1)
    return np.moveaxis(np.diagonal(pieces, axis1=axis, axis2=dim), -1, axis)


def _joined_pieces(array: Array, axis: int, dim: int, count: int) -> Array:
    """The pieces along the batch dim `axis` one behind the other along `dim`, the same for all its positions."""
    sizes = list(array.shape)
    sizes[axis] = count
    pieces = np.moveaxis(np.broadcast_to(array, sizes), axis, dim - 1)
    shape = pieces.shape
    merged = pieces.reshape((*shape[: dim - 1], shape[dim - 1] * shape[dim], *shape[dim + 1 :]))
    return np.expand_dims(merged, axis)


def _axes(grid: Grid, refs: AxisList, mesh: Mesh) -> tuple[int, ...]:
    return tuple(axis for ref in refs for axis in axes_of_ref(grid, ref, mesh))


def _dim_axes(grid: Grid, sharding: TensorSharding, mesh: Mesh, rank: int) -> list[tuple[int, ...]]:
    """The grid axes that cut each dim, major first. A sharding of rank 0 cuts none."""
    if not sharding.dims:
        return [()] * rank
    if sharding.rank != rank:
        raise ValueError(f"a sharding of rank {sharding.rank} for a tensor of rank {rank}")
    return [_axes(grid, dim.axes, mesh) for dim in sharding.dims]


def _only_on_first(shards: Array, grid: Grid, axes: tuple[int, ...]) -> Array:
    if not axes:
        return shards
    sizes = tuple(grid.sizes[axis] if axis in axes else 1 for axis in range(grid.rank))
    is_first = np.zeros(sizes, np.bool_)
    is_first[(0,) * grid.rank] = True
    is_first = is_first.reshape(sizes + (1,) * (shards.ndim - grid.rank))
    return np.where(is_first, shards, np.zeros((), shards.dtype))


def _combined(array: Array, grid: Grid, sharding: TensorSharding, mesh: Mesh) -> Array:
    """The array with the partial values along unreduced axes made one."""
    axes = _axes(grid, sharding.unreduced, mesh)
    if not axes:
        return array
    sizes = [grid.sizes[axis] if axis in axes else size for axis, size in enumerate(array.shape[: grid.rank])]
    full = np.broadcast_to(array, (*sizes, *array.shape[grid.rank :]))
    match sharding.unreduced_kind:
        case ReductionKind.SUM:
            wide = np.float32 if is_float(array.dtype) and array.dtype.itemsize < 4 else array.dtype
            return np.add.reduce(full, axis=axes, dtype=wide, keepdims=True).astype(array.dtype)
        case ReductionKind.MAX:
            return np.maximum.reduce(full, axis=axes, keepdims=True)
        case ReductionKind.MIN:
            return np.minimum.reduce(full, axis=axes, keepdims=True)
