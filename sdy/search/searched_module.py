"""Bring a program into the form that is searched: without shardings, on one mesh, with equal layers folded.

Manual computations stay as they are: their in and out shardings are fixed, and the rest is searched around them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.func_attrs import without_attributes
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import of_class
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import make_context
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sdy.ops import DataFlowEdgeOp, MeshOp, ReshardOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.shardings import SHARDING
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.mesh_digits import NumberedDigits
from sdy.model.mesh_table import resolve_mesh
from sdy.passes.chlo.legalize import ChloLegalizeToStablehloPass
from sdy.passes.export.layers.fold_layers import FoldLayersPass
from sdy.passes.export.optimize.communication_edges import ValueEdge, ops_outside_manual_computations
from sdy.passes.export.optimize.communication_graph import GraphReader, ModuleGraph
from sdy.passes.export.reshards.prepare_for_shards import PrepareForShardsPass
from sdy.passes.manager.pipelines import Propagation
from sdy.passes.propagation.propagate import UserPriorityPropagatePass
from sdy.passes.rewriting.insertion import erase, insert, replace_by
from sdy.passes.rewriting.sharding_walk import map_shardings
from sdy.passes.run import run_passes

MESH_NAME = "mesh"
_ANY_MESH = Mesh((MeshAxis("x", 2),))  # without shardings, no pass depends on the mesh


@dataclass(frozen=True, slots=True)
class SearchedModule:
    """A module without shardings, with the graph of its ops. `mesh_name` is the name of the mesh in the module."""

    module: ModuleOp
    graph: ModuleGraph
    mesh_name: str

    @property
    def mesh(self) -> Mesh:
        """The mesh of the search."""
        return self.graph.digits.mesh

    @property
    def can_shard(self) -> bool:
        """Return whether any op can be sharded."""
        nodes = zip(self.graph.graph.nodes, self.graph.ops, strict=True)
        kinds = {id(node.kind): node.kind for node, op in nodes if not isinstance(op, ValueEdge)}.values()
        single = [((digit,),) for digit in range(len(self.graph.digits.sizes))]
        return any(len(kind.op_layouts(groups)) > 1 for kind in kinds for groups in single)


@dataclass(frozen=True, slots=True)
class PreparedModule:
    """A module without shardings, with equal layers folded. Only its mesh op depends on the mesh."""

    module: ModuleOp

    def on(self, mesh: Mesh, mesh_name: str = MESH_NAME) -> SearchedModule:
        """Return the module on a mesh, in a copy. Raises: SdyError SDY-T251 if it depends on the parts of an axis."""
        copy = copy_with_regions(self.module)
        _set_mesh(copy, mesh, mesh_name)
        check_is_searchable(copy, mesh)
        graph = GraphReader(copy, NumberedDigits.full_axes(mesh), is_free=True).read()
        return SearchedModule(copy, graph, mesh_name)


def manual_computations(module: ModuleOp) -> list[ManualComputationOp]:
    """Return the manual computations on global tensors, which a search leaves as they are."""
    return of_class(ops_outside_manual_computations(module), ManualComputationOp)


def first_op_that_depends_on_mesh(module: ModuleOp) -> Operation | None:
    """Return the first op because of which shardings can be searched on one mesh at most, or None if there is none."""
    ops = ops_outside_manual_computations(module)
    return next((op for op in ops if isinstance(op, ManualComputationOp | CollectiveOp)), None)


def fixed_mesh(module: ModuleOp) -> Mesh | None:
    """Return the only mesh on which a module can be searched, that of its manual computations; None without any."""
    fixed = next(iter(manual_computations(module)), None)
    return None if fixed is None else _mesh_of(fixed, meshes_of(module))


def _mesh_of(op: ManualComputationOp, meshes: Mapping[str, Mesh]) -> Mesh | None:
    """Return the mesh of a manual computation; None if the search cannot represent one of its shardings."""
    shardings = (*op.in_shardings.data, *op.out_shardings.data)
    found = {resolve_mesh(each.mesh, meshes) for each in shardings}
    has_parts = any(each.unreduced or any(axis.sub_axis for axis in each.axis_refs()) for each in shardings)
    return found.pop() if len(found) == 1 and not has_parts else None


def check_is_searchable(module: ModuleOp, mesh: Mesh) -> None:
    """Raise SdyError SDY-T251 if ops of a module depend on the mesh, so that it cannot be searched on `mesh`."""
    meshes = meshes_of(module)
    for op in ops_outside_manual_computations(module):
        if isinstance(op, CollectiveOp):
            raise SdyError(unsearchable(op))
        own = _mesh_of(op, meshes) if isinstance(op, ManualComputationOp) else mesh
        if own is None:
            raise SdyError(unsearchable(op))
        if own.axes != mesh.axes:
            message = f"{op.name} is written for the mesh {own}, so no shardings can be searched on {mesh}"
            hint = "search without a mesh and a number of devices, or lower the program again on another mesh"
            raise SdyError(Diagnostic("SDY-T251", message, span_of(op), hint=hint))


def unsearchable(op: Operation) -> Diagnostic:
    """Return the error that no other shardings can be searched because of an op."""
    message = f"{op.name} depends on the mesh, so no other shardings can be searched"
    return Diagnostic("SDY-T251", message, span_of(op), hint="search the program without this op")


@garbage_collection_paused()
def without_shardings(module: ModuleOp, mesh: Mesh) -> ModuleOp:
    """Return a copy of a module without shardings, with a mesh; manual computations stay as they are.

    A mesh of the module with the same axes keeps its name; all others are removed.
    Raises: SdyError SDY-T251 if the module has ops that depend on another mesh.
    """
    check_is_searchable(module, mesh)
    copy = copy_with_regions(module)
    for op in ops_outside_manual_computations(copy):
        if isinstance(op, ShardingConstraintOp | ReshardOp | DataFlowEdgeOp):
            replace_by(op, op.input)
        elif isinstance(op, FuncOp):
            op.arg_attrs = without_attributes(op.arg_attrs, (SHARDING,))
            op.res_attrs = without_attributes(op.res_attrs, (SHARDING,))
        elif isinstance(op, NamedComputationOp):
            op.in_shardings = op.out_shardings = None
        op.attributes.pop(SHARDING, None)
    _set_mesh(copy, mesh, name_of_mesh(copy, mesh))
    return copy


def on_one_mesh(module: ModuleOp, mesh: Mesh) -> ModuleOp:
    """Return a module if this is its only mesh, or else a copy without shardings on it; see `without_shardings`."""
    own = {each for each in meshes_of(module).values() if each.axes}
    return module if own == {mesh} else without_shardings(module, mesh)


def name_of_mesh(module: ModuleOp, mesh: Mesh) -> str:
    """Return the name of the mesh of a module with these axes, or a default name."""
    return next((name for name, each in meshes_of(module).items() if each == mesh), MESH_NAME)


@garbage_collection_paused()
def prepared_module(module: ModuleOp) -> PreparedModule:
    """Return a module in the form that is searched. Raises: SdyError as `without_shardings`."""
    copy = without_shardings(module, fixed_mesh(module) or _ANY_MESH)
    # Propagation would extend the shardings of manual computations; without these, it changes nothing.
    passes = (each for each in Propagation.beyond_shardy().closed() if not isinstance(each, UserPriorityPropagatePass))
    passes = (ChloLegalizeToStablehloPass(), *passes, FoldLayersPass(), PrepareForShardsPass())
    run_passes(make_context(), copy, passes, verify_each=False)
    return PreparedModule(copy)


def _set_mesh(module: ModuleOp, mesh: Mesh, name: str) -> None:
    """Replace all meshes of a module, and let its manual computations refer to the new one."""
    for each in [op for op in module.ops if isinstance(op, MeshOp)]:
        erase(each)
    insert(MeshOp(name, mesh), InsertPoint.at_start(module.body.block), module.location)
    map_shardings(module, lambda sharding: replace(sharding, mesh=name))
