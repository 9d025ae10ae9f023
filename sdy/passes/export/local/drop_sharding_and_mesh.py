"""Remove all shardings and meshes, which leaves plain StableHLO.

    before  replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [<name = "x">]>   @m is 2x2
    after   replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>

Collectives of a user's program may name their groups by the axes of a mesh; they get lists of devices, since the mesh
is removed. Source: docs/spec/06, 6.2.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.func_attrs import without_attributes
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.shardings import SHARDING
from sdy.dialects.stablehlo.attributes.replica_groups import ReplicaGroupMeshAxesAttr
from sdy.dialects.stablehlo.collectives import AllGatherOp, AllReduceOp, ReduceScatterOp, is_grouped
from sdy.model.axis_on_mesh import replica_groups
from sdy.model.checks.check_mesh import check_group_axes
from sdy.model.mesh_table import MeshTable
from sdy.partitioner.emit.collective_ops import device_table
from sdy.passes.rewriting.insertion import erase


class DropShardingAndMeshPass(ModulePass):
    """Remove all shardings and meshes."""

    name = "sdy-drop-sharding-and-mesh"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Remove the shardings of every op, and the meshes."""
        meshes = meshes_of(op)
        for inner in pre_order(op):
            inner.attributes.pop(SHARDING, None)
            if is_grouped(inner):
                _list_groups(inner, meshes)
            if type(inner) is FuncOp:
                inner.arg_attrs = without_attributes(inner.arg_attrs, (SHARDING,))
                inner.res_attrs = without_attributes(inner.res_attrs, (SHARDING,))
            elif type(inner) is MeshOp:
                erase(inner)


def _list_groups(op: Operation, meshes: MeshTable) -> None:
    """Replace groups that name the axes of a mesh symbol by lists of devices."""
    groups = op.properties["replica_groups"]
    if not isinstance(groups, ReplicaGroupMeshAxesAttr) or not isinstance(groups.data.mesh, SymbolRefAttr):
        return
    mesh = meshes.get(groups.data.mesh.string_value())
    if mesh is None:
        return
    problem = check_group_axes(groups.data.axes, mesh)
    if problem is not None:
        raise SdyError(Diagnostic("SDY-D016", f"replica_groups: {problem.message}", span_of(op), problem.hint))
    op.properties["replica_groups"] = device_table(replica_groups(groups.data.axes, mesh))
    if isinstance(op, AllGatherOp | AllReduceOp | ReduceScatterOp):
        op.use_global_device_ids = UnitAttr()  # groups of mesh axes consist of devices, whether the flag is set or not
