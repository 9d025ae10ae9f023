"""The kernel of `sdy.manual_computation`: its body is a program for each device of the mesh."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sdy.dialects.meshes import meshes_seen_by
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.stablehlo.types import shape_of
from sdy.interpreter.failure import failure
from sdy.interpreter.grid import grid_of_mesh
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable
from sdy.interpreter.replica_groups import grid_for
from sdy.interpreter.shards import shard, unshard
from sdy.interpreter.values import DeviceArray, regridded
from sdy.model.manual_axes import manual_prefix
from sdy.model.mesh import Mesh
from sdy.model.meshes import common_mesh
from sdy.model.sharding import TensorSharding

KERNELS = KernelTable()


@KERNELS.of(ManualComputationOp)
def manual_computation(op: ManualComputationOp) -> Kernel:
    """The body on all devices at once: on shards along the manual axes, on whole tensors along the others."""
    mesh = _mesh_of(op)
    manual_axes = op.manual_axes.data
    into = [_cut_by(sharding, manual_axes) for sharding in op.in_shardings.data]
    out_of = [_cut_by(sharding, manual_axes) for sharding in op.out_shardings.data]
    shapes = [shape_of(output) for output in op.outputs]
    whole_grid = grid_of_mesh(mesh)
    body = op.body.block

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        if context.batch:
            raise failure("SDY-X002", f"the interpreter cannot run {op.name} on several devices itself")
        grid = grid_for(whole_grid, context.runner.groups_within(op))
        shards = [shard(array, sharding, mesh) for array, sharding in zip(arrays, into, strict=True)]
        inside = replace(context, batch=grid.sizes, grid=grid)
        inputs = tuple(regridded(value, grid).array for value in shards)
        results = context.runner.run_block(inside, body, inputs, ())
        values = (DeviceArray(result, grid) for result in results)
        return tuple(
            unshard(value, sharding, mesh, shape) for value, sharding, shape in zip(values, out_of, shapes, strict=True)
        )

    return kernel


def _mesh_of(op: ManualComputationOp) -> Mesh:
    shardings = (*op.in_shardings.data, *op.out_shardings.data)
    found = common_mesh(shardings, meshes_seen_by(op))
    return Mesh(()) if found is None else found.mesh


def _cut_by(sharding: TensorSharding, manual_axes: Collection[str]) -> TensorSharding:
    """The sharding, as far as manual axes go."""
    dims = tuple(replace(dim, axes=manual_prefix(dim, manual_axes)) for dim in sharding.dims)
    unreduced = tuple(axis for axis in sharding.unreduced if axis.name in manual_axes)
    return replace(sharding, dims=dims, replicated=(), unreduced=unreduced)
