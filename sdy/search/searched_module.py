"""Bring a program into the form that is searched: without shardings, on one mesh, with equal layers folded."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.fast_ops import copy_with_regions
from sdy.dialects.ir.func_attrs import without_attributes
from sdy.dialects.ir.gc_pause import garbage_collection_paused
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import ops_of, pre_order
from sdy.dialects.meshes import meshes_of
from sdy.dialects.module_text import make_context
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sdy.ops import MeshOp, ReshardOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.shardings import SHARDING
from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.numbered_digits import NumberedDigits
from sdy.passes.chlo.legalize import ChloLegalizeToStablehloPass
from sdy.passes.export.layers.fold_layers import FoldLayersPass
from sdy.passes.export.optimize.communication_edges import ValueEdge
from sdy.passes.export.optimize.communication_graph import GraphReader, ModuleGraph
from sdy.passes.export.reshards.prepare_for_shards import PrepareForShardsPass
from sdy.passes.manager.pipelines import Propagation
from sdy.passes.rewriting.insertion import erase, insert
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
        """Return the module on a mesh, in a copy."""
        copy = copy_with_regions(self.module)
        _set_mesh(copy, mesh, mesh_name)
        graph = GraphReader(copy, NumberedDigits.full_axes(mesh), is_boundary_free=True).read()
        return SearchedModule(copy, graph, mesh_name)


def first_op_that_depends_on_mesh(module: ModuleOp) -> Operation | None:
    """Return the first op because of which no other shardings can be searched, or None if there is none."""
    fixed = ManualComputationOp | ReshardOp | CollectiveOp
    return next((op for op in pre_order(module) if isinstance(op, fixed)), None)


def unsearchable(op: Operation) -> Diagnostic:
    """Return the error that no other shardings can be searched because of an op."""
    message = f"{op.name} depends on the mesh, so no other shardings can be searched"
    return Diagnostic("SDY-T251", message, span_of(op), hint="search the program without this op")


@garbage_collection_paused()
def without_shardings(module: ModuleOp, mesh: Mesh) -> ModuleOp:
    """Return a copy of a module without shardings, with a mesh.

    A mesh of the module with the same axes keeps its name; all others are removed.
    Raises: SdyError SDY-T251 if the module has ops that depend on a mesh, as a manual computation does.
    """
    dependent = first_op_that_depends_on_mesh(module)
    if dependent is not None:
        raise SdyError(unsearchable(dependent))
    copy = copy_with_regions(module)
    for constraint in list(ops_of(copy, ShardingConstraintOp)):
        constraint.result.replace_all_uses_with(constraint.input)
        erase(constraint)
    for op in pre_order(copy):
        op.attributes.pop(SHARDING, None)
    for func in functions_of(copy).values():
        func.arg_attrs = without_attributes(func.arg_attrs, (SHARDING,))
        func.res_attrs = without_attributes(func.res_attrs, (SHARDING,))
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
    copy = without_shardings(module, _ANY_MESH)
    passes = (*Propagation.beyond_shardy().closed(), FoldLayersPass(), PrepareForShardsPass())
    run_passes(make_context(), copy, [ChloLegalizeToStablehloPass(), *passes], verify_each=False)
    return PreparedModule(copy)


def _set_mesh(module: ModuleOp, mesh: Mesh, name: str) -> None:
    """Replace all meshes of a module."""
    for each in [op for op in module.ops if isinstance(op, MeshOp)]:
        erase(each)
    insert(MeshOp(name, mesh), InsertPoint.at_start(module.body.block), module.location)
