"""Replace every reshard by collectives, by upstream's fixed schedule.

    before  %1 = sdy.reshard %0 <@m, [{}, {"x"}]>       %0 [{"x"}, {}]
    after   %1 = sdy.all_to_all [{"x"}: 0->1] %0 out_sharding=<@m, [{}, {"x"}]>

Requires: explicit reshards. Ensures: the reshards left are those to or from a single device, and those between meshes
with other axes. Source: docs/spec/05, 2.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, assert_never

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.ir.walk import ops_of
from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.collectives import AllGatherOp, AllSliceOp, AllToAllOp, CollectivePermuteOp
from sdy.dialects.sdy.ops import PropagationBarrierOp, ReshardOp
from sdy.dialects.sdy.types import value_shape
from sdy.dialects.shardings import set_result_shardings, sharding_before_barriers
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.shape import ReshapeOp
from sdy.model.collective import AllGather, AllSlice, AllToAll, CollectivePermute
from sdy.model.equivalence import is_equivalent
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import MeshTable, resolve_mesh
from sdy.model.shape import Shape, Shapeless
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed, fully_closed_like
from sdy.partitioner.reshard.collective_schedule import schedule
from sdy.partitioner.reshard.steps import PlanStep, Reshape
from sdy.passes.rewriting.insertion import insert, replace_by


@dataclass(frozen=True)
class ReshardToCollectivesPass(ModulePass):
    """Replace reshards by all-slices, collective-permutes, all-to-alls and all-gathers."""

    name = "sdy-reshard-to-collectives"

    keep_redundant_reshards: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every reshard of the module."""
        meshes = meshes_of(op)
        for reshard in ops_of(op, ReshardOp):
            source, target = sharding_before_barriers(reshard.input), reshard.sharding.data
            if self.keep_redundant_reshards and is_equivalent(source, target):
                continue
            if is_expressible(source, target, meshes):
                _rewrite(reshard, source, meshes)


def is_expressible(source: TensorSharding | None, target: TensorSharding, meshes: MeshTable) -> bool:
    """Return whether collectives can express the reshard: the meshes differ at most in their device order."""
    target_mesh = resolve_mesh(target.mesh, meshes)
    source_mesh = target_mesh if source is None else resolve_mesh(source.mesh, meshes)
    if target_mesh is None or source_mesh is None or target_mesh.is_maximal or source_mesh.is_maximal:
        return False
    return _is_same_everywhere(target) or source_mesh.same_axes(target_mesh)


def _is_same_everywhere(sharding: TensorSharding) -> bool:
    """Return whether all devices hold the full tensor, so that the device order is irrelevant."""
    return sharding.is_fully_replicated and not sharding.unreduced


def _rewrite(reshard: ReshardOp, source: TensorSharding | None, meshes: MeshTable) -> None:
    value, ends = ends_of(reshard, source, meshes)
    if ends is not None:
        for step in schedule(*ends):
            value = insert(step_op(step, value), InsertPoint.before(reshard), reshard.location).results[0]
    replace_by(reshard, value)


class ReshardEnds(NamedTuple):
    """The source and target sharding of a reshard, on meshes that differ at most in device order; source's mesh."""

    source: TensorSharding
    target: TensorSharding
    shape: Shape
    mesh: Mesh


def ends_of(
    reshard: ReshardOp, source: TensorSharding | None, meshes: MeshTable
) -> tuple[SSAValue, ReshardEnds | None]:
    """Return the value to reshard, and its source and target; None if they are equal.

    Requires: `is_expressible`.
    """
    target = reshard.sharding.data
    source = source or fully_closed(target.mesh, target.rank)
    if _is_same_everywhere(source) and _is_same_everywhere(target):
        return reshard.input, None
    value = _without_barriers(reshard.input)
    mesh = resolve_mesh(source.mesh, meshes)
    shape = value_shape(value.type)
    assert mesh is not None  # checked by `is_expressible`
    assert not isinstance(shape, Shapeless)  # its sharding has axes
    if _is_same_everywhere(target):
        target = replace(fully_closed_like(target), mesh=source.mesh)
    elif resolve_mesh(target.mesh, meshes) == mesh:
        target = replace(target, mesh=source.mesh)  # another mesh name is not a permutation
    return value, ReshardEnds(source, target, shape, mesh)


def _without_barriers(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, PropagationBarrierOp):
        value = value.owner.input
    return value


def step_op(step: PlanStep, value: SSAValue) -> Operation:
    """Create the op that performs a step on `value`, without inserting it."""
    match step.action:
        case AllGather(axes=axes):
            return AllGatherOp(value, axes, step.sharding)
        case AllSlice(axes=axes):
            return AllSliceOp(value, axes, step.sharding)
        case AllToAll(params=params):
            return AllToAllOp(value, params, step.sharding)
        case CollectivePermute():
            return CollectivePermuteOp(value, step.sharding)
        case Reshape():
            tensor = as_tensor(value.type)
            sizes = [size for size in step.shape if size is not None]
            assert tensor is not None  # only dims of static size are split
            assert len(sizes) == len(step.shape)
            op = ReshapeOp.create(operands=[value], result_types=[TensorType(tensor.element_type, sizes)])
            set_result_shardings(op, (step.sharding,))
            return op
        case _:
            assert_never(step.action)
