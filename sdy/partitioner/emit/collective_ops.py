"""Builders of the collectives of StableHLO with their replica groups and channels.

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
    HloMesh,
    HloMeshAttr,
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


def all_gather(emit: Emitter, value: SSAValue, dim: int, axes: AxisList, common: CommonMesh) -> SSAValue:
    """Gather the shards of each group of devices along `dim`."""
    return all_gather_values(emit, [value], dim, axes, common)[0]


def all_gather_stacked(emit: Emitter, values: Sequence[SSAValue], axes: AxisList, common: CommonMesh) -> list[SSAValue]:
    """Gather several values of each group of devices along a new leading dim, by one collective."""
    rows = [emit.reshape(value, [1, *shape_of(value)]) for value in values]
    return all_gather_values(emit, rows, 0, axes, common)


def all_gather_values(
    emit: Emitter, values: Sequence[SSAValue], dim: int, axes: AxisList, common: CommonMesh
) -> list[SSAValue]:
    """Gather the shards of several values along `dim`, by one collective."""
    count = sharded_size(axes, common.mesh)
    types = [
        with_shape(value, [size * count if each == dim else size for each, size in enumerate(shape_of(value))])
        for value in values
    ]
    properties: Properties = {"all_gather_dim": IntegerAttr(dim, i64), **_global_ids_and_channel(emit, axes, common)}
    return list(emit.op(collectives.AllGatherOp, values, types, properties).results)


def all_reduce(emit: Emitter, value: SSAValue, axes: AxisList, common: CommonMesh, kind: ReductionKind) -> SSAValue:
    """Reduce the values of each group of devices."""
    body = combining_body(COMBINER_OF_KIND[kind], tensor_of(value).element_type)
    return emit.value(collectives.AllReduceOp, [value], value.type, _global_ids_and_channel(emit, axes, common), [body])


def reduce_scatter(
    emit: Emitter, value: SSAValue, dim: int, axes: AxisList, common: CommonMesh, kind: ReductionKind
) -> SSAValue:
    """Reduce the values of each group of devices; each device keeps one shard along `dim`."""
    sizes = list(shape_of(value))
    sizes[dim] //= sharded_size(axes, common.mesh)
    properties: Properties = {"scatter_dimension": IntegerAttr(dim, i64), **_global_ids_and_channel(emit, axes, common)}
    body = combining_body(COMBINER_OF_KIND[kind], tensor_of(value).element_type)
    return emit.value(collectives.ReduceScatterOp, [value], with_shape(value, sizes), properties, [body])


def all_to_all(
    emit: Emitter, value: SSAValue, split_dim: int, concat_dim: int, axes: AxisList, common: CommonMesh
) -> SSAValue:
    """Split `value` along `split_dim`, send block i to device i of the group, and concatenate along `concat_dim`."""
    count = sharded_size(axes, common.mesh)
    sizes = list(shape_of(value))
    sizes[split_dim] //= count
    sizes[concat_dim] *= count
    properties: Properties = {
        "split_dimension": IntegerAttr(split_dim, i64),
        "concat_dimension": IntegerAttr(concat_dim, i64),
        "split_count": IntegerAttr(count, i64),
        "replica_groups": _groups(emit, axes, common),
        **_partition_channel(emit),
    }
    return emit.value(collectives.AllToAllOp, [value], with_shape(value, sizes), properties)


def collective_permute(emit: Emitter, value: SSAValue, pairs: Sequence[tuple[int, int]]) -> SSAValue:
    """Send the value of each source device to its target; devices that receive nothing get zeros."""
    properties: Properties = {"source_target_pairs": device_table(pairs), **_partition_channel(emit)}
    return emit.value(collectives.CollectivePermuteOp, [value], value.type, properties)


def _global_ids_and_channel(emit: Emitter, axes: AxisList, common: CommonMesh) -> Properties:
    """Return replica groups of global device ids, and a channel."""
    return {
        "replica_groups": _groups(emit, axes, common),
        "channel_handle": emit.style.channels.next_handle(),
        "use_global_device_ids": UnitAttr(),
    }


def _partition_channel(emit: Emitter) -> Properties:
    """Return a channel unless devices are replicas: with a channel, the device numbers are partitions."""
    return {} if emit.style.counts_replicas else {"channel_handle": emit.style.channels.next_handle()}


def _groups(emit: Emitter, axes: AxisList, common: CommonMesh) -> Attribute:
    if emit.style.names_mesh_axes and all(axis.sub_axis is None for axis in axes):
        return ReplicaGroupMeshAxesAttr(ReplicaGroupMeshAxes(_mesh_attribute(common), axes))
    return _table_of_groups(axes, common.mesh)


@lru_cache(maxsize=4096)
def _table_of_groups(axes: AxisList, mesh: Mesh) -> Attribute:
    return device_table(replica_groups(axes, mesh))


def device_table(rows: Sequence[Sequence[int]]) -> DenseElementsAttr:
    """Return groups of devices, or source-target pairs, as an attribute; all rows have the same length."""
    numbers = [device for row in rows for device in row]
    return DenseElementsAttr.from_values(TensorType(i64, [len(rows), len(rows[0])]), numbers)


def _mesh_attribute(common: CommonMesh) -> Attribute:
    if isinstance(common.reference, str):
        return SymbolRefAttr(common.reference)
    return HloMeshAttr(_hlo_mesh(common.mesh))


def _hlo_mesh(mesh: Mesh) -> HloMesh:
    ids = mesh.device_ids
    return HloMesh(mesh.axes, DenseElementsAttr.from_values(TensorType(i64, [len(ids)]), ids) if ids else None)
