"""Builders of ops that compute the position of the device that runs the program: its number, and its shard offsets.

Source: docs/spec/06, 0.4 and 0.5.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, i1, i64
from xdsl.ir import Attribute, SSAValue

from sdy.dialects.constants.elements import Scalar
from sdy.dialects.stablehlo import collectives
from sdy.dialects.stablehlo.attributes.types import AnyTensor, shape_of
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.collective import AxesPerDim
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.partitioner.emit.emitter import Emitter
from sdy.partitioner.emit.slices import slice_at

UI32 = IntegerType(32, Signedness.UNSIGNED)


def device_number(emit: Emitter) -> SSAValue:
    """Return the number of the device that runs the program, as `tensor<i64>`."""
    number = collectives.ReplicaIdOp if emit.style.counts_replicas else collectives.PartitionIdOp
    return emit.convert(emit.value(number, [], TensorType(UI32, [])), i64)


def device_entry(emit: Emitter, table: Sequence[Scalar], element_type: Attribute, number: SSAValue) -> SSAValue:
    """Return entry `number` of a table with one entry per device, as a tensor with one element."""
    entries = emit.constant(TensorType(element_type, [len(table)]), table)
    return slice_at(emit, entries, [number], [1])


def device_index(emit: Emitter, table: Sequence[int], number: SSAValue) -> SSAValue:
    """Return entry `number` of a table with one index per device, as `tensor<i64>`: a constant if all are equal."""
    is_constant = len(set(table)) == 1
    return emit.index(table[0]) if is_constant else emit.reshape(device_entry(emit, table, i64, number), [])


def own_entry(emit: Emitter, table: Sequence[int]) -> SSAValue:
    """Return the entry of this device in a table with one entry per device, as `tensor<i64>`."""
    return emit.reshape(device_entry(emit, table, i64, device_number(emit)), [])


def shard_offset(emit: Emitter, axes: AxisList, mesh: Mesh, shard_size: int) -> SSAValue:
    """Return the offset of this device's shard along a dim sharded along `axes`, as `tensor<i64>`."""
    return own_entry(emit, [coordinate * shard_size for coordinate in shard_coordinates(axes, mesh)])


def shard_offsets(emit: Emitter, axes: AxesPerDim, mesh: Mesh, shard_sizes: Sequence[int]) -> list[SSAValue]:
    """Return the offset of this device's shard along each dim; zero along unsharded dims."""
    return [
        shard_offset(emit, own, mesh, size) if own else emit.index(0)
        for own, size in zip(axes, shard_sizes, strict=True)
    ]


def own_shard(emit: Emitter, value: SSAValue, axes: AxesPerDim, mesh: Mesh) -> SSAValue:
    """Slice this device's shard out of a tensor whose dims are to be sharded along `axes`."""
    sizes = [size // sharded_size(own, mesh) for size, own in zip(shape_of(value), axes, strict=True)]
    return slice_at(emit, value, shard_offsets(emit, axes, mesh, sizes), sizes)


def is_first_device(emit: Emitter, axes: AxisList, mesh: Mesh, tensor: AnyTensor) -> SSAValue:
    """Return a mask in the shape of `tensor`: whether this device is the first one along `axes`."""
    return _is_at(emit, 0, axes, mesh, tensor)


def is_last_device(emit: Emitter, axes: AxisList, mesh: Mesh, tensor: AnyTensor) -> SSAValue:
    """Return a mask in the shape of `tensor`: whether this device is the last one along `axes`."""
    return _is_at(emit, sharded_size(axes, mesh) - 1, axes, mesh, tensor)


def _is_at(emit: Emitter, position: int, axes: AxisList, mesh: Mesh, tensor: AnyTensor) -> SSAValue:
    is_there = [int(coordinate == position) for coordinate in shard_coordinates(axes, mesh)]
    return device_mask(emit, is_there, device_number(emit), tensor)


def device_mask(emit: Emitter, table: Sequence[int], number: SSAValue, tensor: AnyTensor) -> SSAValue:
    """Return a mask in the shape of `tensor` that is entry `number` of a table of 0 and 1 everywhere."""
    entry = device_entry(emit, table, i1, number)
    return emit.broadcast(entry, tensor, [0]) if tensor.get_shape() else emit.reshape(entry, [])
