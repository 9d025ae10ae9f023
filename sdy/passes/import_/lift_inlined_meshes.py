"""Give every mesh one name: shardings refer to meshes by name, and equal meshes are merged.

    before  sdy.mesh @a = <["x"=2]>  sdy.mesh @b = <["x"=2]>      <@b, [{"x"}]>, <mesh<["y"=3]>, [{"y"}]>
    after   sdy.mesh @a = <["x"=2]>  sdy.mesh @mesh = <["y"=3]>   <@a, [{"x"}]>, <@mesh, [{"y"}]>

Ensures: every `sdy.mesh` op has the dictionary `stablehlo.mesh`, for tools that only read StableHLO.
Source: docs/spec/04, 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.sdy.attrs import MeshAttr
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.stablehlo import collectives
from sdy.dialects.stablehlo.attributes.replica_groups import HloMesh, HloMeshAttr, ReplicaGroupMeshAxesAttr
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding
from sdy.passes.rewriting.call_graph import UniqueNames
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import forget_order, keep_order, op_order
from sdy.passes.rewriting.sharding_walk import map_shardings

STABLEHLO_MESH = "stablehlo.mesh"
REPLICA_GROUPS = "replica_groups"
# New meshes are named in this order of ops.
OPS_WITH_REPLICA_GROUPS: tuple[type[Operation], ...] = (
    collectives.AllGatherOp,
    collectives.AllReduceOp,
    collectives.ReduceScatterOp,
    collectives.AllToAllOp,
    collectives.CollectiveBroadcastOp,
)


class LiftInlinedMeshesPass(ModulePass):
    """Name every inlined mesh and merge equal meshes."""

    name = "sdy-lift-inlined-meshes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Merge the existing meshes, then name those in shardings and replica groups."""
        order = op_order(op)
        lifter = _Lifter(op)
        if not lifter.is_order_kept:
            forget_order(op)
        map_shardings(op, lifter.named)
        for collective in [collective for kind in OPS_WITH_REPLICA_GROUPS for collective in order.of(kind)]:
            lifter.name_in_groups(collective)
        for mesh_op in _mesh_ops(op):
            if STABLEHLO_MESH not in mesh_op.attributes:
                mesh_op.attributes[STABLEHLO_MESH] = stablehlo_mesh(mesh_op.mesh.data)
        if lifter.is_order_kept:
            keep_order(op)


class _Lifter:
    """The names of the meshes of a module."""

    def __init__(self, module: ModuleOp) -> None:
        self._name_of: dict[Mesh, str] = {}
        self._name_of_hlo: dict[HloMesh, str] = {}
        self._kept_name: dict[str, str] = {}  # the name that replaces that of an erased mesh
        self._module = module
        self._last: MeshOp | None = None
        self.is_order_kept = True
        for op in list(_mesh_ops(module)):
            name = self._name_of.setdefault(op.mesh.data, op.sym_name.data)
            if name == op.sym_name.data:
                self._last = op
            else:
                self._kept_name[op.sym_name.data] = name
                self.is_order_kept = False
                erase(op)
        self._names = UniqueNames(module)

    def named(self, sharding: TensorSharding) -> TensorSharding:
        """Return the sharding with its mesh referred to by name."""
        if isinstance(sharding.mesh, str):
            name = self._kept_name.get(sharding.mesh)
            return sharding if name is None else replace(sharding, mesh=name)
        if sharding.mesh not in self._name_of:
            self._name_of[sharding.mesh] = self._define(sharding.mesh)
        return replace(sharding, mesh=self._name_of[sharding.mesh])

    def name_in_groups(self, op: Operation) -> None:
        """Refer by name to the mesh of a collective's replica groups."""
        groups = op.properties.get(REPLICA_GROUPS)
        if not isinstance(groups, ReplicaGroupMeshAxesAttr):
            return
        mesh = groups.data.mesh
        match mesh:
            case SymbolRefAttr():
                name = self._kept_name.get(mesh.root_reference.data, mesh.root_reference.data)
            case MeshAttr():
                name = self._name_of.get(mesh.data) or self._name_of.setdefault(mesh.data, self._define(mesh.data))
            case HloMeshAttr():
                # Always a new mesh; the device ids are dropped, as in Shardy.
                if mesh.data not in self._name_of_hlo:
                    self._name_of_hlo[mesh.data] = self._define(Mesh(mesh.data.axes))
                name = self._name_of_hlo[mesh.data]
            case _:
                return
        named = replace(groups.data, mesh=SymbolRefAttr(name))
        op.properties[REPLICA_GROUPS] = ReplicaGroupMeshAxesAttr(named)

    def _define(self, mesh: Mesh) -> str:
        name = self._names.new(_base_name(mesh))
        op = MeshOp.create(properties={"sym_name": StringAttr(name), "mesh": MeshAttr(mesh)})
        op.location = self._module.location
        block = self._module.body.block
        if self._last is not None:
            block.insert_op_after(op, self._last)
        elif block.first_op is not None:
            block.insert_op_before(op, block.first_op)
        else:
            block.add_op(op)
        self._last = op
        self.is_order_kept = False
        return name


def _base_name(mesh: Mesh) -> str:
    if mesh.is_maximal:
        return f"maximal_mesh_{mesh.device_ids[0]}"
    return "empty_mesh" if mesh.is_empty else "mesh"


def _mesh_ops(module: ModuleOp) -> Iterator[MeshOp]:
    return (op for op in module.ops if isinstance(op, MeshOp))


def stablehlo_mesh(mesh: Mesh) -> DictionaryAttr:
    """Return the mesh as `{axes = [{name = "x", size = 2 : i64}]}`, with device ids if it has any."""
    axes = ArrayAttr(
        [DictionaryAttr({"name": StringAttr(axis.name), "size": IntegerAttr(axis.size, i64)}) for axis in mesh.axes]
    )
    entries: dict[str, Attribute] = {"axes": axes}
    if mesh.device_ids:
        entries["device_ids"] = device_ids_attribute(mesh)
    return DictionaryAttr(entries)


def device_ids_attribute(mesh: Mesh) -> DenseElementsAttr:
    """Return the device ids of a mesh as a dense list."""
    return DenseElementsAttr.from_values(TensorType(i64, [len(mesh.device_ids)]), mesh.device_ids)
