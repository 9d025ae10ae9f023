"""Kernels of the `sdy` ops. Those that describe shardings compute nothing on global tensors.

The body of `sdy.manual_computation` is a program for each device of the mesh.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.facts.traits import PassesThrough, has_fact
from sdy.dialects.meshes import visible_meshes
from sdy.dialects.sdy import collectives, ops
from sdy.dialects.sdy.regions import ManualComputationOp, NamedComputationOp
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.interpreter.arrays.literals import array_of
from sdy.interpreter.devices.grid import Grid, grid_of_mesh
from sdy.interpreter.devices.replica_groups import grid_for
from sdy.interpreter.devices.shards import shard_each, unshard, unshard_each
from sdy.interpreter.devices.values import DeviceArray, regridded
from sdy.interpreter.failure import failure
from sdy.interpreter.field.numbers import Field
from sdy.interpreter.kernel import Arrays, Kernel, KernelContext, KernelTable
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import common_mesh
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import manual_prefix

KERNELS = KernelTable()


@KERNELS.of(
    *collectives.OPS,
    *(each for each in ops.OPS if has_fact(each, PassesThrough)),
)
def identity(_op: Operation) -> Kernel:
    """Return the operand: only its sharding changes."""
    return lambda _context, arrays: arrays


@KERNELS.of(ops.ShardingGroupOp, ops.MeshOp)
def nothing(_op: Operation) -> Kernel:
    """Return no results."""
    return lambda _context, _arrays: ()


@KERNELS.of(ops.ConstantOp)
def constant(op: ops.ConstantOp) -> Kernel:
    """Return the constant, the same on every device. Raises: SdyError SDY-X002 if it lists no elements."""
    if not isinstance(op.value, DenseElementsAttr):
        raise failure("SDY-X002", f"{op.name}: expected a list of elements, got {op.value}")
    array = array_of(op.value.data)
    return lambda context, _: (context.replicated(array),)


@KERNELS.of(NamedComputationOp)
def named_computation(op: NamedComputationOp) -> Kernel:
    """Run the body."""
    body = op.body.block
    return lambda context, arrays: context.runner.run_block(context, body, arrays, ())


@KERNELS.of(ManualComputationOp)
def manual_computation(op: ManualComputationOp) -> Kernel:
    """Run the body on all devices at once: on shards along the manual axes, on full dims along the others."""
    body, manual_axes = op.body.block, op.manual_axes.data
    if not manual_axes:
        return lambda context, arrays: context.runner.run_block(context, body, arrays, ())
    border = _Boundary(
        mesh=_mesh_of(op),
        manual_axes=frozenset(manual_axes),
        into=tuple(_manual_part(sharding, manual_axes) for sharding in op.in_shardings.data),
        out_of=tuple(_manual_part(sharding, manual_axes) for sharding in op.out_shardings.data),
        shapes=tuple(shape_of(output) for output in op.outputs),
    )
    whole_grid = grid_of_mesh(border.mesh)

    def kernel(context: KernelContext, arrays: Arrays) -> Arrays:
        outer = _grid_of(context, whole_grid)
        grid = grid_for(whole_grid, context.runner.groups_within(op))
        inside = replace(context, batch=grid.sizes, grid=grid)
        inputs = tuple(regridded(value, grid).array for value in border.sharded(arrays, outer))
        results = context.runner.run_block(inside, body, inputs, ())
        return border.joined([DeviceArray(result, grid) for result in results], outer, context.field)

    return kernel


@dataclass(frozen=True, slots=True)
class _Boundary:
    """Shards operands on entry to the body and reassembles results on exit; its shardings use manual axes only."""

    mesh: Mesh
    manual_axes: frozenset[str]
    into: tuple[TensorSharding, ...]
    out_of: tuple[TensorSharding, ...]
    shapes: tuple[tuple[int, ...], ...]

    def sharded(self, arrays: Arrays, outer: Grid) -> list[DeviceArray]:
        """Return the shards of the operands. If several devices run the op, each has its own operands."""
        pairs = zip(arrays, self.into, strict=True)
        return [shard_each(DeviceArray(array, outer), sharding, self.mesh) for array, sharding in pairs]

    def joined(self, values: Sequence[DeviceArray], outer: Grid, field: Field | None) -> Arrays:
        """Return the results whose shards are `values`, as each device that runs the op holds them."""
        triples = zip(values, self.out_of, self.shapes, strict=True)
        if not outer.rank:
            return tuple(unshard(value, sharding, self.mesh, shape, field) for value, sharding, shape in triples)
        return tuple(
            regridded(unshard_each(value, sharding, self.mesh, shape, self.manual_axes, field), outer).array
            for value, sharding, shape in triples
        )


def _grid_of(context: KernelContext, of_mesh: Grid) -> Grid:
    """Return the grid that runs the op. Raises: SdyError SDY-X016 unless it is one device or those of the mesh."""
    grid = context.grid
    if grid is not None and (not grid.rank or set(grid.ids.tolist()) == set(of_mesh.ids.tolist())):
        return grid
    here = "the elements of a reduction" if grid is None else f"{grid.position_count} devices"
    raise failure(
        "SDY-X016",
        f"a manual computation must run on the {of_mesh.position_count} devices of its mesh, but {here} run it",
        hint="move it out of reductions, and out of branches that only some devices take",
    )


def _mesh_of(op: ManualComputationOp) -> Mesh:
    shardings = (*op.in_shardings.data, *op.out_shardings.data)
    found = common_mesh(shardings, visible_meshes(op))
    return Mesh(()) if found is None else found.mesh


def _manual_part(sharding: TensorSharding, manual_axes: Collection[str]) -> TensorSharding:
    """Return the sharding restricted to manual axes."""
    dims = tuple(replace(dim, axes=manual_prefix(dim, manual_axes)) for dim in sharding.dims)
    unreduced = tuple(axis for axis in sharding.unreduced if axis.name in manual_axes)
    return replace(sharding, dims=dims, replicated=(), unreduced=unreduced)
