"""Round trips of tensors through shards."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.model.strategies import MESH, covering_sub_axes

from sdy.interpreter.devices.grid import grid_of_mesh
from sdy.interpreter.devices.shards import shard, shard_each, unshard, unshard_each
from sdy.interpreter.devices.values import DeviceArray, regridded, replicated
from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import sharded_size
from sdy.model.axis_on_mesh import axis_end
from sdy.model.mesh import Mesh
from sdy.model.sharding import DimSharding, ReductionKind, TensorSharding

ROTATED = Mesh(MESH.axes, tuple((7 * index + 5) % MESH.device_count for index in range(MESH.device_count)))


@st.composite
def sharded_tensors(draw: st.DrawFn) -> tuple[tuple[int, ...], TensorSharding, Mesh]:
    """Draw a shape, a sharding that need not divide it, and a mesh in any order of devices."""
    refs = list(draw(st.permutations(draw(covering_sub_axes()))))
    rank = draw(st.integers(0, 3))
    dims: list[AxisList] = []
    for _ in range(rank):
        count = draw(st.integers(0, min(2, len(refs))))
        dims.append(tuple(refs[:count]))
        refs = refs[count:]
    unreduced = tuple(refs[: draw(st.integers(0, 1))])
    shape = tuple(draw(st.integers(1, 30)) for _ in range(rank))
    kind = draw(st.sampled_from(ReductionKind))
    sharding = TensorSharding("m", tuple(map(DimSharding, dims)), unreduced=unreduced, unreduced_kind=kind)
    return shape, sharding, draw(st.sampled_from([MESH, ROTATED]))


def place_of(device: int, axes: AxisList, mesh: Mesh) -> int:
    """Return the index of the shard of a dim along `axes` on a device: its coordinates, major first, as one number."""
    position = mesh.devices().index(device)
    place = 0
    for ref in axes:
        names = [axis.name for axis in mesh.axes]
        minor = prod(axis.size for axis in mesh.axes[names.index(ref.name) + 1 :])
        coordinate = position // minor % mesh.axis_size(ref.name)
        digit = coordinate // (mesh.axis_size(ref.name) // axis_end(ref, mesh)) % mesh.size_of(ref)
        place = place * mesh.size_of(ref) + digit
    return place


@given(sharded_tensors())
def test_unshard_inverts_shard(tensor: tuple[tuple[int, ...], TensorSharding, Mesh]) -> None:
    shape, sharding, mesh = tensor
    array = np.arange(prod(shape), dtype=np.int64).reshape(shape) + 1
    shards = shard(array, sharding, mesh)
    assert (unshard(shards, sharding, mesh, shape) == array).all()


@given(sharded_tensors(), st.integers(0, MESH.device_count - 1))
def test_device_holds_the_shard_of_its_coordinates(
    tensor: tuple[tuple[int, ...], TensorSharding, Mesh], device: int
) -> None:
    shape, sharding, mesh = tensor
    array = np.arange(prod(shape), dtype=np.int64).reshape(shape) + 1
    expected = array
    for dim, dim_sharding in enumerate(sharding.dims):
        local = -(-shape[dim] // sharded_size(dim_sharding.axes, mesh))
        start = place_of(device, dim_sharding.axes, mesh) * local
        piece = expected[(slice(None),) * dim + (slice(start, start + local),)]
        padding = [(0, 0)] * len(shape)
        padding[dim] = (0, local - piece.shape[dim])
        expected = np.pad(piece, padding)
    if sharding.unreduced_kind is ReductionKind.SUM and place_of(device, sharding.unreduced, mesh):
        expected = np.zeros_like(expected)
    assert (shard(array, sharding, mesh).device_view(device) == expected).all()


@given(sharded_tensors(), sharded_tensors())
def test_a_value_is_the_same_on_every_grid(
    tensor: tuple[tuple[int, ...], TensorSharding, Mesh], other: tuple[tuple[int, ...], TensorSharding, Mesh]
) -> None:
    shape, sharding, mesh = tensor
    value = shard(np.arange(prod(shape), dtype=np.int64).reshape(shape), sharding, mesh)
    moved = regridded(value, grid_of_mesh(other[2], other[1].axis_refs()))
    assert all((moved.device_view(device) == value.device_view(device)).all() for device in mesh.devices())


@given(st.sampled_from(ReductionKind))
def test_partial_values_are_combined(kind: ReductionKind) -> None:
    unreduced = (AxisRef("v"),)
    sharding = TensorSharding("m", (DimSharding(),), unreduced=unreduced, unreduced_kind=kind)
    parts = np.array([[3.0, 1.0], [2.0, 5.0]], np.float32).reshape(2, 1, 1, 2)
    value = DeviceArray(parts, grid_of_mesh(MESH))
    expected = {ReductionKind.SUM: [5.0, 6.0], ReductionKind.MAX: [3.0, 5.0], ReductionKind.MIN: [2.0, 1.0]}[kind]
    assert unshard(value, sharding, MESH, (2,)).tolist() == expected


@given(sharded_tensors())
def test_shard_each_of_a_replicated_tensor_equals_shard(
    tensor: tuple[tuple[int, ...], TensorSharding, Mesh],
) -> None:
    shape, sharding, mesh = tensor
    array = np.arange(prod(shape), dtype=np.int64).reshape(shape) + 1
    expected = shard(array, sharding, mesh)
    found = shard_each(replicated(array, grid_of_mesh(mesh)), sharding, mesh)
    for device in mesh.devices():
        assert (found.device_view(device) == expected.device_view(device)).all()


@given(sharded_tensors())
def test_unshard_each_inverts_shard_each(
    tensor: tuple[tuple[int, ...], TensorSharding, Mesh],
) -> None:
    shape, sharding, mesh = tensor
    first = mesh.axes[0].name
    inner = replace(
        sharding, dims=tuple(DimSharding(tuple(ref for ref in dim.axes if ref.name != first)) for dim in sharding.dims)
    )
    inner = replace(inner, unreduced=tuple(ref for ref in sharding.unreduced if ref.name != first))
    own = np.arange(mesh.axes[0].size * prod(shape), dtype=np.int64).reshape((mesh.axes[0].size, *shape)) + 1
    grid = grid_of_mesh(mesh)
    held = DeviceArray(own.reshape((mesh.axes[0].size,) + (1,) * (grid.rank - 1) + shape), grid)
    others = [axis.name for axis in mesh.axes[1:]]
    back = regridded(unshard_each(shard_each(held, inner, mesh), inner, mesh, shape, others), grid)
    for device in mesh.devices():
        assert (back.device_view(device) == held.device_view(device)).all()
