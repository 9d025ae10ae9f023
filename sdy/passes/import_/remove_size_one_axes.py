"""Drop axes of size 1 from all shardings, since they do not shard anything and can only prevent agreement.

    before  <@m, [{"one", "x"}, {"one"}p1]>     <["one"=1, "x"=4]>
    after   <@m, [{"x"}, {}]>

The meshes keep the axes. Source: docs/spec/04, 2.2.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.dialects.meshes import meshes_of
from sdy.model.axis import AxisList
from sdy.model.axis_list import extended
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import resolve_mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.passes.rewriting.op_order import keep_order
from sdy.passes.rewriting.sharding_walk import map_shardings


class RemoveSizeOneAxesPass(ModulePass):
    """Drop axes of size 1 from shardings."""

    name = "sdy-remove-size-one-axes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit the shardings if some mesh has an axis of size 1."""
        meshes = meshes_of(op)
        if any(axis.size == 1 for mesh in meshes.values() for axis in mesh.axes):
            map_shardings(op, lambda sharding: without_size_one_axes(sharding, resolve_mesh(sharding.mesh, meshes)))
        keep_order(op)


def without_size_one_axes(sharding: TensorSharding, mesh: Mesh | None) -> TensorSharding:
    """Return the sharding without refs of size 1. A closed dim that loses all its axes loses its priority too.

    Sub-axes that become adjacent are merged: [{"x":(1)3, "one", "x":(3)2}] becomes [{"x"}] on an axis of size 6.
    """
    if mesh is None:
        return sharding

    def larger(axes: AxisList) -> AxisList:
        return extended((), (axis for axis in axes if mesh.size_of(axis) != 1), mesh)

    def without(dim: DimSharding) -> DimSharding:
        axes = larger(dim.axes)
        return replace(dim, axes=axes, priority=None if dim.is_closed and not axes else dim.priority)

    return replace(
        sharding,
        dims=tuple(without(dim) for dim in sharding.dims),
        replicated=larger(sharding.replicated),
        unreduced=larger(sharding.unreduced),
    )
