"""Read the devices that a collective op names: by replica groups, by pairs, or by the axes of a mesh."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.ir.op_location import located
from sdy.dialects.meshes import visible_meshes
from sdy.dialects.stablehlo import collectives as ops
from sdy.dialects.stablehlo.attributes.attrs import has_channel
from sdy.dialects.stablehlo.attributes.replica_groups import HloMeshAttr, ReplicaGroupMeshAxes, ReplicaGroupMeshAxesAttr
from sdy.interpreter.arrays.literals import array_of
from sdy.interpreter.devices.grid import axes_of_ref, grid_of_mesh
from sdy.interpreter.devices.replica_groups import GroupingStrategy, ReplicaGroups, Rows
from sdy.interpreter.failure import failure
from sdy.model.axis import AxisRef, SubAxis
from sdy.model.mesh import Mesh, MeshAxis


def groups_of(op: ops.GroupedOp) -> ReplicaGroups:
    """Return the groups of a collective op. Raises: SdyError SDY-X004 if it names an undefined mesh."""
    if isinstance(op.replica_groups, ReplicaGroupMeshAxesAttr):
        return ReplicaGroups(_rows_of_axes(op, op.replica_groups.data), GroupingStrategy.FLATTENED_IDS)
    return ReplicaGroups(_rows(op.replica_groups), _strategy_of(op))


def groups_in(root: Operation) -> Iterator[ReplicaGroups]:
    """Yield the groups of all collective ops inside `root`."""
    for op in root.walk():
        if ops.is_grouped(op):
            try:
                yield groups_of(op)
            except SdyError as error:
                raise located(error, op) from error


def transfers_of(op: ops.CollectivePermuteOp) -> ReplicaGroups:
    """Return the (source, target) pairs as groups of two."""
    strategy = GroupingStrategy.CROSS_PARTITION if has_channel(op) else GroupingStrategy.CROSS_REPLICA
    return ReplicaGroups(_rows(op.source_target_pairs), strategy)


def _rows(table: DenseElementsAttr) -> Rows:
    return tuple(tuple(row) for row in array_of(table.data).tolist() if row)


def _strategy_of(op: ops.GroupedOp) -> GroupingStrategy:
    match op:
        case ops.CrossReplicaSumOp():
            return GroupingStrategy.CROSS_REPLICA
        case ops.AllToAllOp() | ops.CollectiveBroadcastOp() | ops.CollectiveReduceOp():
            return GroupingStrategy.CROSS_PARTITION if has_channel(op) else GroupingStrategy.CROSS_REPLICA
        case _:
            if op.use_global_device_ids is not None:
                return GroupingStrategy.FLATTENED_IDS
            return GroupingStrategy.CROSS_REPLICA_AND_PARTITION if has_channel(op) else GroupingStrategy.CROSS_REPLICA


def _rows_of_axes(op: Operation, groups: ReplicaGroupMeshAxes) -> Rows:
    """Return groups of devices that differ along these axes only, in the order of the axes."""
    mesh = _mesh_of(op, groups)
    refs = [AxisRef(ref.name, None if ref.sub_axis is None else SubAxis(*ref.sub_axis)) for ref in groups.axes]
    missing = [ref.name for ref in refs if not mesh.has_axis(ref.name)]
    if missing:
        raise failure("SDY-X009", f'the mesh of the replica groups has no axis "{missing[0]}"')
    grid = grid_of_mesh(mesh, refs)
    inner = [axis for ref in refs for axis in axes_of_ref(grid, ref, mesh)]
    outer = [axis for axis in range(grid.rank) if axis not in inner]
    ids = grid.ids.reshape(grid.sizes).transpose([*outer, *inner])
    rows = ids.reshape((*ids.shape[: len(outer)], -1)).reshape((-1, ids[(0,) * len(outer)].size))
    return tuple(tuple(row) for row in rows.tolist())


def _mesh_of(op: Operation, groups: ReplicaGroupMeshAxes) -> Mesh:
    if isinstance(groups.mesh, HloMeshAttr):
        axes = tuple(MeshAxis(axis.name, axis.size) for axis in groups.mesh.data.axes)
        ids = groups.mesh.data.device_ids
        return Mesh(axes, () if ids is None else ids.get_ints())
    name = groups.mesh.string_value() if isinstance(groups.mesh, SymbolRefAttr) else str(groups.mesh)
    mesh = visible_meshes(op).get(name)
    if mesh is None:
        raise failure("SDY-X004", f"mesh @{name} is not defined", hint="define it with sdy.mesh")
    return mesh
