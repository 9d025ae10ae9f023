"""Express all shardings on the axes of the first mesh, so that tensors on several meshes of the same devices agree.

    before  sdy.mesh @m = <["x"=4, "y"=2]>  sdy.mesh @n = <["a"=2, "b"=4]>      <@n, [{"a"}, {"b"}]>
    after   the same meshes                                                   <@m, [{"x":(1)2}, {"x":(2)2, "y"}]>

A mesh in which devices are ordered otherwise becomes a mesh with the axes of the first one and another order of
devices; a collective-permute leads from one order to another. If manual computations need parts of an axis, a mesh is
added in which these are axes, since manual axes are full axes. Propagation and the partitioner then treat the program
like one that was written on one mesh.

Requires: meshes have names; shardings have no axes of size 1. Meshes of other numbers of devices stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.ir.walk import ops_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.attrs import ManualAxesAttr
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sdy.ops import MeshOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import extended, sort_and_merge
from sdy.model.devices.common_mesh import AxisTranslation, Interval, common_digits, split_mesh, translation
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import MeshTable, common_mesh
from sdy.model.sharding import TensorSharding
from sdy.passes.rewriting.insertion import insert
from sdy.passes.rewriting.op_order import forget_order, keep_order, op_order
from sdy.passes.rewriting.sharding_walk import map_shardings
from sdy.passes.rewriting.unique_names import UniqueNames

RefsOfMeshes = dict[str, dict[AxisRef, None]]  # the refs to each mesh, in program order


class UnifyMeshesPass(ModulePass):
    """Express all shardings on the axes of the first mesh."""

    name = "sdy-unify-meshes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the shardings on all meshes with as many devices as the first one.

        A module with collectives of sdy stays, since their axes would have to change with those of the shardings.
        """
        meshes = {name: mesh for name, mesh in meshes_of(op).items() if mesh.device_count > 1}
        if len(meshes) > 1 and not any(isinstance(inner, CollectiveOp) for inner in op_order(op).ops):
            refs = _refs_of_meshes(op, meshes)
            if len(refs) > 1:
                _Unifier(op, meshes, refs).rewrite()
                return
        keep_order(op)


def _refs_of_meshes(module: ModuleOp, meshes: MeshTable) -> RefsOfMeshes:
    """Return the refs of all shardings to each mesh with as many devices as the first one, in the order of meshes."""
    found: RefsOfMeshes = {name: {} for name in meshes}
    used: set[str] = set()

    def visit(sharding: TensorSharding) -> TensorSharding:
        if isinstance(sharding.mesh, str) and sharding.mesh in found:
            used.add(sharding.mesh)
            found[sharding.mesh].update(dict.fromkeys(sharding.axis_refs()))
        return sharding

    map_shardings(module, visit)
    count = next((mesh.device_count for name, mesh in meshes.items() if name in used), 0)
    return {name: refs for name, refs in found.items() if name in used and meshes[name].device_count == count}


class _Unifier:
    """Rewrites the shardings of a module that refers to several meshes of equally many devices."""

    def __init__(self, module: ModuleOp, meshes: MeshTable, refs: RefsOfMeshes) -> None:
        self._module = module
        self._meshes = dict(meshes)
        self._refs = refs
        self._main = next(iter(refs))
        self._digits = common_digits([(meshes[name], refs[name]) for name in refs])
        self._names = UniqueNames(module)
        self._name_of: dict[Mesh, str] = {}
        for name, mesh in meshes.items():
            self._name_of.setdefault(mesh, name)

    def rewrite(self) -> None:
        """Rewrite manual axes, then shardings."""
        manual = [
            (op, common.reference)
            for op in ops_of(self._module, ManualComputationOp)
            if (common := common_mesh((*op.in_shardings.data, *op.out_shardings.data), self._meshes))
            and isinstance(common.reference, str)
            and common.reference in self._refs
        ]
        main = self._meshes[self._main]
        on_main = self._translations(main)
        parts = (ref for op, name in manual for ref in _translated_names(op.manual_axes.data, on_main[name]))
        split, _ = split_mesh(main, list(parts))
        final = on_main if split == main else self._translations(split)
        for op, name in manual:
            op.manual_axes = ManualAxesAttr(
                tuple(ref.name for ref in _translated_names(op.manual_axes.data, final[name]))
            )
        targets = {name: self._named(each.target) for name, each in final.items()}

        def rewritten(sharding: TensorSharding) -> TensorSharding:
            if not isinstance(sharding.mesh, str) or sharding.mesh not in final:
                return sharding
            return _translated(sharding, final[sharding.mesh], targets[sharding.mesh])

        map_shardings(self._module, rewritten)

    def _translations(self, target: Mesh) -> dict[str, AxisTranslation]:
        digits: tuple[Interval, ...] = self._digits
        return {name: translation(self._meshes[name], refs, target, digits) for name, refs in self._refs.items()}

    def _named(self, mesh: Mesh) -> str:
        """Return the name of a mesh, which is added if the module does not have it.

        The first mesh of a module is that of its boundary. A mesh in the device order of the main one takes its place.
        """
        name = self._name_of.get(mesh)
        if name is None:
            name = self._name_of[mesh] = self._names.new(self._main)
            first = next(op for op in self._module.ops if isinstance(op, MeshOp))
            op = MeshOp(name, mesh)
            is_first = mesh.devices() == self._meshes[self._main].devices()
            insert(op, InsertPoint.before(first) if is_first else InsertPoint.after(first), first.location)
            forget_order(self._module)
        return name


def _translated_names(names: Iterable[str], axes: AxisTranslation) -> AxisList:
    """Return the parts of axes of the target, in mesh order, that the given axes of the source stand for."""
    return sort_and_merge((ref for name in names for ref in axes.refs(AxisRef(name))), axes.target)


def _translated(sharding: TensorSharding, axes: AxisTranslation, mesh_name: str) -> TensorSharding:
    """Return the sharding on the target of `axes`, which is called `mesh_name`."""

    def refs(old: AxisList) -> AxisList:
        return extended((), (ref for axis in old for ref in axes.refs(axis)), axes.target)

    return replace(
        sharding,
        mesh=mesh_name,
        dims=tuple(replace(dim, axes=refs(dim.axes)) for dim in sharding.dims),
        replicated=sort_and_merge(refs(sharding.replicated), axes.target),
        unreduced=sort_and_merge(refs(sharding.unreduced), axes.target),
    )
