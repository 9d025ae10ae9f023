"""Emitting the collectives of StableHLO: who talks to whom, through which channel.

Source: docs/spec/06, 0.6 and 0.7, and 8.1 G20.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.stablehlo import collectives
from sdy.dialects.stablehlo.attributes.replica_groups import (
    HloAxisRef,
    HloMesh,
    HloMeshAttr,
    HloMeshAxis,
    ReplicaGroupMeshAxes,
    ReplicaGroupMeshAxesAttr,
)
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.model.axis import AxisList
from sdy.model.axis_list import sharded_size
from sdy.model.axis_on_mesh import replica_groups
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import CommonMesh
from sdy.model.sharding import ReductionKind
from sdy.partitioner.emit.emitter import Emitter, Properties, tensor_of, with_shape
from sdy.partitioner.on_shards.combiners import COMBINER_OF_KIND, combining_body


def all_gather(emit: Emitter, value: SSAValue, dim: int, axes: AxisList, on: CommonMesh) -> SSAValue:
    """The shards of a group of devices, one after the other along `dim`."""
    return all_gather_values(emit, [value], dim, axes, on)[0]


def all_gather_stacked(emit: Emitter, values: Sequence[SSAValue], axes: AxisList, on: CommonMesh) -> list[SSAValue]:
    """The values of a group of devices along a new first dim, all values by one collective."""
    rows = [emit.reshape(value, [1, *shape_of(value)]) for value in values]
    return all_gather_values(emit, rows, 0, axes, on)


def all_gather_values(
    emit: Emitter, values: Sequence[SSAValue], dim: int, axes: AxisList, on: CommonMesh
) -> list[SSAValue]:
    """The shards of a group of devices, one after the other along `dim`: of several values by one collective."""
    count = sharded_size(axes, on.mesh)
    types = [
        with_shape(value, [size * count if each == dim else size for each, size in enumerate(shape_of(value))])
        for value in values
    ]
    properties: Properties = {"all_gather_dim": IntegerAttr(dim, i64), **_between_ids(emit, axes, on)}
    return list(emit.op(collectives.AllGatherOp, values, types, properties).results)


def all_reduce(emit: Emitter, value: SSAValue, axes: AxisList, on: CommonMesh, kind: ReductionKind) -> SSAValue:
    """The values of a group of devices, combined."""
    body = combining_body(COMBINER_OF_KIND[kind], tensor_of(value).element_type)
    return emit.value(collectives.AllReduceOp, [value], value.type, _between_ids(emit, axes, on), [body])


def reduce_scatter(
    emit: Emitter, value: SSAValue, dim: int, axes: AxisList, on: CommonMesh, kind: ReductionKind
) -> SSAValue:
    """The values of a group of devices, combined; each device keeps one part along `dim`."""
    sizes = list(shape_of(value))
    sizes[dim] //= sharded_size(axes, on.mesh)
    properties: Properties = {"scatter_dimension": IntegerAttr(dim, i64), **_between_ids(emit, axes, on)}
    body = combining_body(COMBINER_OF_KIND[kind], tensor_of(value).element_type)
    return emit.value(collectives.ReduceScatterOp, [value], with_shape(value, sizes), properties, [body])


def all_to_all(
    emit: Emitter, value: SSAValue, split_dim: int, concat_dim: int, axes: AxisList, on: CommonMesh
) -> SSAValue:
    """Each device cuts `split_dim`, hands part i to device i of its group, and joins what it gets."""
    count = sharded_size(axes, on.mesh)
    sizes = list(shape_of(value))
    sizes[split_dim] //= count
    sizes[concat_dim] *= count
    properties: Properties = {
        "split_dimension": IntegerAttr(split_dim, i64),
        "concat_dimension": IntegerAttr(concat_dim, i64),
        "split_count": IntegerAttr(count, i64),
        "replica_groups": _groups(emit, axes, on),
        **_partition_channel(emit),
    }
    return emit.value(collectives.AllToAllOp, [value], with_shape(value, sizes), properties)


def collective_permute(emit: Emitter, value: SSAValue, pairs: Sequence[tuple[int, int]]) -> SSAValue:
    """Each device hands its value to another one; who gets none has zeros."""
    properties: Properties = {"source_target_pairs": device_table(pairs), **_partition_channel(emit)}
    return emit.value(collectives.CollectivePermuteOp, [value], value.type, properties)


def _between_ids(emit: Emitter, axes: AxisList, on: CommonMesh) -> Properties:
    """Groups of device numbers that count replicas and partitions alike."""
    return {
        "replica_groups": _groups(emit, axes, on),
        "channel_handle": emit.style.channels.next_handle(),
        "use_global_device_ids": UnitAttr(),
    }


def _partition_channel(emit: Emitter) -> Properties:
    """The channel of a collective whose device numbers, with a channel, always mean partitions."""
    return {} if emit.style.counts_replicas else {"channel_handle": emit.style.channels.next_handle()}


def _groups(emit: Emitter, axes: AxisList, on: CommonMesh) -> Attribute:
    if emit.style.names_mesh_axes and all(axis.sub_axis is None for axis in axes):
        named = tuple(HloAxisRef(axis.name) for axis in axes)
        return ReplicaGroupMeshAxesAttr(ReplicaGroupMeshAxes(_mesh_attribute(on), named))
    return _table_of_groups(axes, on.mesh)


@lru_cache(maxsize=4096)
def _table_of_groups(axes: AxisList, mesh: Mesh) -> Attribute:
    return device_table(replica_groups(axes, mesh))


def device_table(rows: Sequence[Sequence[int]]) -> DenseElementsAttr:
    """Groups of devices, or pairs of source and target, as collectives have them; all rows are of one length."""
    numbers = [device for row in rows for device in row]
    return DenseElementsAttr.from_values(TensorType(i64, [len(rows), len(rows[0])]), numbers)


def _mesh_attribute(on: CommonMesh) -> Attribute:
    if isinstance(on.reference, str):
        return SymbolRefAttr(on.reference)
    return HloMeshAttr(_hlo_mesh(on.mesh))


def _hlo_mesh(mesh: Mesh) -> HloMesh:
    axes = tuple(HloMeshAxis(axis.name, axis.size) for axis in mesh.axes)
    ids = mesh.device_ids
    return HloMesh(axes, DenseElementsAttr.from_values(TensorType(i64, [len(ids)]), ids) if ids else None)
