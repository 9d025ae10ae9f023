"""Replace mesh symbols by inlined meshes.

    before  sdy.mesh @m = <["x"=2]>        <@m, [{"x"}]>
    after                                  <mesh<["x"=2]>, [{"x"}]>

Source: docs/spec/04, 3.1.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from sdy.dialects.ir.walk import pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.stablehlo.attributes.replica_groups import HloMesh, HloMeshAttr, ReplicaGroupMeshAxesAttr
from sdy.model.mesh_table import MeshTable
from sdy.model.sharding import TensorSharding
from sdy.passes.import_.lift_inlined_meshes import REPLICA_GROUPS, device_ids_attribute
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.sharding_walk import map_shardings


class InlineMeshesPass(ModulePass):
    """Inline meshes into shardings and remove the mesh symbols."""

    name = "sdy-inline-meshes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all shardings, then erase the mesh ops."""
        meshes = meshes_of(op)

        def inlined(sharding: TensorSharding) -> TensorSharding:
            mesh = sharding.mesh
            return replace(sharding, mesh=meshes.get(mesh, mesh)) if isinstance(mesh, str) else sharding

        map_shardings(op, inlined)
        for inner in pre_order(op):
            _inline_in_groups(inner, meshes)
        for mesh in [inner for inner in op.ops if isinstance(inner, MeshOp)]:
            erase(mesh)


def _inline_in_groups(op: Operation, meshes: MeshTable) -> None:
    groups = op.properties.get(REPLICA_GROUPS)
    if not isinstance(groups, ReplicaGroupMeshAxesAttr) or not isinstance(groups.data.mesh, SymbolRefAttr):
        return
    mesh = meshes.get(groups.data.mesh.root_reference.data)
    if mesh is not None:
        devices = device_ids_attribute(mesh) if mesh.device_ids else None
        inlined = replace(groups.data, mesh=HloMeshAttr(HloMesh(mesh.axes, devices)))
        op.properties[REPLICA_GROUPS] = ReplicaGroupMeshAxesAttr(inlined)
