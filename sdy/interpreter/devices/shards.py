"""Shard a global tensor over the devices of a mesh, and reassemble it from its shards.

A dim sharded `p` ways has `ceil(size / p)` elements on every device; the tensor is padded at the end to `p` times
that. Shard `i` is on the devices whose coordinates along the axes of the dim, major first, are the digits of `i`.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

import numpy as np

from sdy.dialects.stablehlo.elementwise import AddOp, MaximumOp, MinimumOp
from sdy.interpreter.arrays.element_types import Array, is_float
from sdy.interpreter.arrays.extremes import extreme
from sdy.interpreter.arrays.field_types import equal_elements, is_field, parts_of
from sdy.interpreter.arrays.rounding_errors import allowed_error, errors, first_difference
from sdy.interpreter.devices.grid import ONE_DEVICE, Grid, axes_of_ref, grid_of_mesh
from sdy.interpreter.devices.values import DeviceArray, regridded, replicated
from sdy.interpreter.field.folds import FieldFold
from sdy.interpreter.field.numbers import Field
from sdy.model.axis import AxisList, AxisRef
from sdy.model.devices.placement import TensorPlacement
from sdy.model.mesh import Mesh
from sdy.model.shape import local_shape
from sdy.model.sharding import ReductionKind, TensorSharding


def shard(array: Array, sharding: TensorSharding, mesh: Mesh) -> DeviceArray:
    """Return the shards of the global `array` on the devices of `mesh`, padded with 0.

    Along unreduced axes the first device holds a sum and the others 0; a maximum or minimum is on all devices.
    Raises: ValueError if the ranks of array and sharding differ.
    """
    return shard_each(replicated(array, ONE_DEVICE), sharding, mesh)


def shard_each(value: DeviceArray, sharding: TensorSharding, mesh: Mesh) -> DeviceArray:
    """Return for each device of `mesh` its shard of the unsharded tensor that it holds. Raises: as `shard`."""
    grid = grid_of_mesh(mesh, sharding.axis_refs())
    array = regridded(value, grid).array
    for dim, axes in enumerate(_dim_axes(grid, sharding, mesh, len(value.local_shape)), start=grid.rank):
        count = prod(grid.sizes[axis] for axis in axes)
        after = -array.shape[dim] % count
        if after:
            array = np.pad(array, [(0, after if index == dim else 0) for index in range(array.ndim)])
        for axis in axes:
            array = _own_block(array, axis, dim, grid.sizes[axis])
    if sharding.unreduced_kind is ReductionKind.SUM:
        array = _only_on_first(array, grid, _axes(grid, sharding.unreduced, mesh))
    return DeviceArray(array, grid)


def unshard(
    value: DeviceArray, sharding: TensorSharding, mesh: Mesh, shape: tuple[int, ...], field: Field | None = None
) -> Array:
    """Return the global tensor of shape `shape` whose shards are `value`, without the padding.

    Partial values along unreduced axes are combined, those of a finite field in `field`; along other axes that no dim
    uses, the first device is read.
    Raises: ValueError if the local shape of `value` is not that of a shard.
    """
    local = local_shape(shape, sharding, mesh)
    if value.local_shape != local:
        raise ValueError(f"expected shards of shape {local} for a tensor of shape {shape}, got {value.local_shape}")
    names = [axis.name for axis in mesh.axes]
    joined = unshard_each(value, sharding, mesh, shape, names, field)
    return joined.array[(0,) * joined.grid.rank]


def unshard_each(
    value: DeviceArray,
    sharding: TensorSharding,
    mesh: Mesh,
    shape: tuple[int, ...],
    axis_names: Collection[str],
    field: Field | None = None,
) -> DeviceArray:
    """Reassemble tensors of shape `shape` along the mesh axes of these names only.

    The result varies along the other axes of `mesh`.
    """
    grid = grid_of_mesh(mesh, sharding.axis_refs())
    array = _combined(regridded(value, grid).array, grid, sharding, mesh, field)
    dim_axes = _dim_axes(grid, sharding, mesh, len(shape))
    sharded = {axis for axes in dim_axes for axis in axes}
    refs = tuple(AxisRef(axis.name) for axis in mesh.axes if axis.name in axis_names)
    for axis in set(_axes(grid, refs, mesh)) - sharded:
        array = array[(slice(None),) * axis + (slice(1),)]
    leading = (grid.sizes[axis] if axis in sharded else array.shape[axis] for axis in range(grid.rank))
    array = np.broadcast_to(array, (*leading, *value.local_shape))
    kept = [axis for axis in range(grid.rank) if axis not in sharded]
    order = [*kept, *(each for dim, axes in enumerate(dim_axes, start=grid.rank) for each in (*axes, dim))]
    padded = [prod(array.shape[each] for each in (*axes, dim)) for dim, axes in enumerate(dim_axes, start=grid.rank)]
    joined = array.transpose(order).reshape((*(array.shape[axis] for axis in kept), *padded))
    joined = joined[(..., *map(slice, shape))]
    return DeviceArray(np.expand_dims(joined, tuple(sorted(sharded))), grid)


def _own_block(array: Array, axis: int, dim: int, count: int) -> Array:
    """Split the array along `dim` into `count` blocks; position `i` of the batch dim `axis` keeps block `i`."""
    shape = array.shape
    blocks = array.reshape((*shape[:dim], count, shape[dim] // count, *shape[dim + 1 :]))
    if shape[axis] == 1:
        return np.moveaxis(blocks, dim, axis).squeeze(axis + 1)
    return np.moveaxis(np.diagonal(blocks, axis1=axis, axis2=dim), -1, axis)


def _axes(grid: Grid, refs: AxisList, mesh: Mesh) -> tuple[int, ...]:
    return tuple(axis for ref in refs for axis in axes_of_ref(grid, ref, mesh))


def _dim_axes(grid: Grid, sharding: TensorSharding, mesh: Mesh, rank: int) -> list[tuple[int, ...]]:
    """Return the grid axes that each dim is sharded along, major first. A sharding of rank 0 has none."""
    if not sharding.dims:
        return [()] * rank
    if sharding.rank != rank:
        raise ValueError(f"expected a sharding of rank {rank}, got rank {sharding.rank}")
    return [_axes(grid, dim.axes, mesh) for dim in sharding.dims]


def _only_on_first(shards: Array, grid: Grid, axes: tuple[int, ...]) -> Array:
    if not axes:
        return shards
    sizes = tuple(grid.sizes[axis] if axis in axes else 1 for axis in range(grid.rank))
    is_first = np.zeros(sizes, np.bool_)
    is_first[(0,) * grid.rank] = True
    is_first = is_first.reshape(sizes + (1,) * (shards.ndim - grid.rank))
    return np.where(is_first, shards, np.zeros((), shards.dtype))


# The ops that combine the partial values of each kind, for numbers of a field.
_COMBINERS = {ReductionKind.SUM: AddOp, ReductionKind.MAX: MaximumOp, ReductionKind.MIN: MinimumOp}


def _combined(array: Array, grid: Grid, sharding: TensorSharding, mesh: Mesh, field: Field | None) -> Array:
    """Combine the partial values along unreduced axes."""
    axes = _axes(grid, sharding.unreduced, mesh)
    if not axes:
        return array
    sizes = [grid.sizes[axis] if axis in axes else size for axis, size in enumerate(array.shape[: grid.rank])]
    full = np.broadcast_to(array, (*sizes, *array.shape[grid.rank :]))
    if field is not None and is_field(array.dtype):
        return np.expand_dims(FieldFold(field, _COMBINERS[sharding.unreduced_kind]).reduced(full, axes), axes)
    match sharding.unreduced_kind:
        case ReductionKind.SUM:
            wide = np.float32 if is_float(array.dtype) and array.dtype.itemsize < 4 else array.dtype
            return np.add.reduce(full, axis=axes, dtype=wide, keepdims=True).astype(array.dtype)
        case ReductionKind.MAX:
            return extreme(np.maximum, full, axes)
        case ReductionKind.MIN:
            return extreme(np.minimum, full, axes)


def copies_problem(value: DeviceArray, placement: TensorPlacement, index: int) -> str:
    """Return where copies of result `index` differ, along the axes that its sharding does not use, or ""."""
    sharding = placement.sharding
    grid = grid_of_mesh(placement.mesh, sharding.axis_refs())
    array = regridded(value, grid).array
    used = {
        axis
        for ref in (*(ref for dim in sharding.dims for ref in dim.axes), *sharding.unreduced)
        for axis in axes_of_ref(grid, ref, placement.mesh)
    }
    for axis in range(grid.rank):
        if axis in used or array.shape[axis] == 1:
            continue
        first = np.take(array, [0], axis=axis)
        expected = np.broadcast_to(first, array.shape)
        if is_field(array.dtype):
            differs = ~equal_elements(array, expected)
            shown = parts_of(array)[0], parts_of(expected)[0]  # residues
        else:
            error, magnitude = errors(array, expected)
            differs, shown = error > allowed_error(array.dtype, magnitude), (array, expected)
        if differs.any():
            return f"devices hold different copies of result {index}: {first_difference(*shown, differs)}"
    return ""
