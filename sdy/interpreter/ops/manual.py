"""The kernel of `sdy.manual_computation`: its body is a program for each device of the mesh."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sdy.dialects.meshes import visible_meshes
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.interpreter.devices.grid import Grid, grid_of_mesh
from sdy.interpreter.devices.replica_groups import grid_for
from sdy.interpreter.devices.shards import shard, shard_of_each, unshard, whole_of_each
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.interpreter.failure import failure
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable
from sdy.model.manual_axes import manual_prefix
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import common_mesh
from sdy.model.sharding import TensorSharding

KERNELS = KernelTable()


@KERNELS.of(ManualComputationOp)
def manual_computation(op: ManualComputationOp) -> Kernel:
    """The body on all devices at once: on shards along the manual axes, on whole tensors along the others."""
    body, manual_axes = op.body.block, op.manual_axes.data
    if not manual_axes:
        return lambda context, arrays: context.runner.run_block(context, body, arrays, ())
    border = _Border(
        mesh=_mesh_of(op),
        manual_axes=frozenset(manual_axes),
        into=tuple(_cut_by(sharding, manual_axes) for sharding in op.in_shardings.data),
        out_of=tuple(_cut_by(sharding, manual_axes) for sharding in op.out_shardings.data),
        shapes=tuple(shape_of(output) for output in op.outputs),
    )
    whole_grid = grid_of_mesh(border.mesh)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        outer = _grid_of(context, whole_grid)
        grid = grid_for(whole_grid, context.runner.groups_within(op))
        inside = replace(context, batch=grid.sizes, grid=grid)
        inputs = tuple(regridded(value, grid).array for value in border.cut(arrays, outer))
        results = context.runner.run_block(inside, body, inputs, ())
        return border.joined([DeviceArray(result, grid) for result in results], outer)

    return kernel


@dataclass(frozen=True, slots=True)
class _Border:
    """What happens to values on their way into the body and out of it; only manual axes are left in the shardings."""

    mesh: Mesh
    manual_axes: frozenset[str]
    into: tuple[TensorSharding, ...]
    out_of: tuple[TensorSharding, ...]
    shapes: tuple[tuple[int, ...], ...]

    def cut(self, arrays: Arrays, outer: Grid) -> list[DeviceArray]:
        """The shards of the operands. Where several devices run outside, each has operands of its own."""
        pairs = zip(arrays, self.into, strict=True)
        if not outer.rank:
            return [shard(array, sharding, self.mesh) for array, sharding in pairs]
        return [shard_of_each(DeviceArray(array, outer), sharding, self.mesh) for array, sharding in pairs]

    def joined(self, values: Sequence[DeviceArray], outer: Grid) -> Arrays:
        """The results whose shards are `values`, as the devices outside hold them."""
        triples = zip(values, self.out_of, self.shapes, strict=True)
        if not outer.rank:
            return tuple(unshard(value, sharding, self.mesh, shape) for value, sharding, shape in triples)
        return tuple(
            regridded(whole_of_each(value, sharding, self.mesh, shape, self.manual_axes), outer).array
            for value, sharding, shape in triples
        )


def _grid_of(context: KernelContext, of_mesh: Grid) -> Grid:
    """The grid that runs the op. Raises: SdyError SDY-X016 where it is neither one device nor those of the mesh."""
    grid = context.grid
    if grid is not None and (not grid.rank or set(grid.ids.tolist()) == set(of_mesh.ids.tolist())):
        return grid
    here = "the elements of a reduction" if grid is None else f"{grid.position_count} devices"
    raise failure(
        "SDY-X016",
        f"a manual computation needs the {of_mesh.position_count} devices of its mesh, and {here} run it",
        hint="let all devices of the mesh reach it: outside of reductions, and of branches that only some of them take",
    )


def _mesh_of(op: ManualComputationOp) -> Mesh:
    shardings = (*op.in_shardings.data, *op.out_shardings.data)
    found = common_mesh(shardings, visible_meshes(op))
    return Mesh(()) if found is None else found.mesh


def _cut_by(sharding: TensorSharding, manual_axes: Collection[str]) -> TensorSharding:
    """The sharding, as far as manual axes go."""
    dims = tuple(replace(dim, axes=manual_prefix(dim, manual_axes)) for dim in sharding.dims)
    unreduced = tuple(axis for axis in sharding.unreduced if axis.name in manual_axes)
    return replace(sharding, dims=dims, replicated=(), unreduced=unreduced)
