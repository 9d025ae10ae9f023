"""Give called functions a topology, and each mesh its own `sdy.mesh`. Source: docs/spec/07, 5.1 and 5.10."""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.ir.walk import ops_of
from sdy.dialects.sdy.ops import MeshOp
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.mpmd.dialect.attrs import NamedMesh, TopologyAttr
from sdy.mpmd.dialect.functions import TOPOLOGY, failure, is_mpmd, mpmd_functions, topology_of
from sdy.mpmd.dialect.ops import CallOp
from sdy.mpmd.passes.tools.frame import Findings, FunctionPass
from sdy.passes.rewriting.insertion import erase, insert
from sdy.passes.rewriting.op_order import forget_order
from sdy.passes.rewriting.sharding_walk import map_shardings

EMPTY_MESH = "empty_mesh"


class CopyTopologyFromMainPass(FunctionPass):
    """Give each function that `mpmd.call` calls the topology of the caller, and make it private."""

    name = "mpmd-copy-topology-from-main"
    ON = is_mpmd

    def visit(self, func: FuncOp, findings: Findings) -> None:
        """Visit a function, which may have got its topology here."""
        for call in ops_of(func, CallOp):
            call.function.attributes[TOPOLOGY] = func.attributes[TOPOLOGY]
            call.function.sym_visibility = StringAttr("private")


class GenerateSdyMeshesFromTopologyPass(ModulePass):
    """Declare an `sdy.mesh` for each mesh of the topology, and let shardings refer to these by the prefixes of axes.

    before  sdy.mesh @mesh = <["tpu_x"=8]>    <@mesh, [{"tpu_x"}]>    topology = <<"tpu" : <["tpu_x"=2]>>>
    after   sdy.mesh @tpu = <["tpu_x"=2]>     <@tpu, [{"tpu_x"}]>
    """

    name = "mpmd-generate-sdy-meshes-from-topology"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace the meshes. Raises: SdyError SDY-M001 if no function has a topology, or if an axis names no mesh."""
        entry = next(iter(mpmd_functions(op)), None)
        topology = topology_of(entry)
        if entry is None or topology is None:
            raise failure(op, "SDY-M001", "expected a function with a topology")
        old = {mesh.sym_name.data: mesh for mesh in op.ops if isinstance(mesh, MeshOp)}
        for named in reversed(topology.data):
            _declare(op, named.name, named.mesh)
        needs_empty = False

        def rewritten(sharding: TensorSharding) -> TensorSharding:
            nonlocal needs_empty
            if not sharding.is_fully_replicated:
                return replace(sharding, mesh=_mesh_of_axes(op, sharding, topology))
            mesh = old[sharding.mesh].mesh.data if isinstance(sharding.mesh, str) and sharding.mesh in old else None
            mesh = sharding.mesh if isinstance(sharding.mesh, Mesh) else mesh
            if mesh is not None and (mesh.is_empty or mesh.is_maximal):
                return sharding
            needs_empty = True
            return replace(sharding, mesh=EMPTY_MESH)

        forget_order(op)
        map_shardings(op, rewritten)
        if needs_empty:
            if EMPTY_MESH not in old:
                _declare(op, EMPTY_MESH, Mesh(()))
            entry.attributes[TOPOLOGY] = TopologyAttr((*topology.data, NamedMesh(EMPTY_MESH, Mesh(()))))
        for mesh in old.values():
            if not (mesh.mesh.data.is_empty or mesh.mesh.data.is_maximal):
                erase(mesh)


def _declare(module: ModuleOp, name: str, mesh: Mesh) -> None:
    insert(MeshOp(name, mesh), InsertPoint.at_start(module.body.block), module.location)


def _mesh_of_axes(module: ModuleOp, sharding: TensorSharding, topology: TopologyAttr) -> str:
    """Return the mesh that the prefixes of all axes of a sharding name."""
    prefixes = {ref.name.partition("_")[0] for ref in sharding.axis_refs() if "_" in ref.name}
    if len(prefixes) != 1 or topology.mesh(name := prefixes.pop()) is None:
        message = f"the axes of {sharding} must begin with the name of one mesh of the topology, as in mesh_axis"
        raise failure(module, "SDY-M001", message)
    return name
