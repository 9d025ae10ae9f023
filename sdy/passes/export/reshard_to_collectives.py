"""Turn every reshard into the collectives that do it.

    before  %1 = sdy.reshard %0 <@m, [{}, {"x"}]>       %0 [{"x"}, {}]
    after   %1 = sdy.all_to_all [{"x"}: 0->1] %0 out_sharding=<@m, [{}, {"x"}]>

Requires: explicit reshards. Ensures: the reshards left are those to or from a single device, and those between meshes
with other axes. Source: spec of reshards, section 2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import assert_never

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from sdy.dialects.meshes import meshes_of
from sdy.dialects.sdy.collectives import AllGatherOp, AllSliceOp, AllToAllOp, CollectiveOp, CollectivePermuteOp
from sdy.dialects.sdy.ops import PropagationBarrierOp, ReshardOp
from sdy.dialects.sdy.types import value_shape
from sdy.dialects.shardings import sharding_before_barriers
from sdy.dialects.walk import ops_of
from sdy.model.axis import coexist
from sdy.model.collective import AllGather, AllSlice, AllToAll, CollectivePermute
from sdy.model.equivalence import equivalent
from sdy.model.mesh import Mesh
from sdy.model.meshes import MeshTable, resolved
from sdy.model.shape import Shape, Shapeless, local_shape
from sdy.model.sharding import TensorSharding
from sdy.model.sharding_update import fully_closed, fully_closed_like
from sdy.partitioner.collective_schedule import ReshardStep, gather_and_slice, schedule
from sdy.passes.insertion import insert


@dataclass(frozen=True)
class ReshardToCollectivesPass(ModulePass):
    """Replace reshards by slices, permutes, all-to-alls and gathers."""

    name = "sdy-reshard-to-collectives"

    keep_redundant_reshards: bool = False
    even_steps: bool = False  # gather and slice where a dim would not divide on the way, or sub-axes do not go together

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every reshard of the module."""
        meshes = meshes_of(op)
        for reshard in ops_of(op, ReshardOp):
            source, target = sharding_before_barriers(reshard.input), reshard.sharding.data
            if self.keep_redundant_reshards and equivalent(source, target):
                continue
            if is_expressible(source, target, meshes):
                _rewrite(reshard, source, meshes, even=self.even_steps)


def is_expressible(source: TensorSharding | None, target: TensorSharding, meshes: MeshTable) -> bool:
    """Whether collectives lead from `source` to `target`: on meshes that differ at most in their device order."""
    target_mesh = resolved(target.mesh, meshes)
    source_mesh = target_mesh if source is None else resolved(source.mesh, meshes)
    if target_mesh is None or source_mesh is None or target_mesh.is_maximal or source_mesh.is_maximal:
        return False
    return target.is_fully_replicated or source_mesh.same_axes(target_mesh)


def _rewrite(reshard: ReshardOp, source: TensorSharding | None, meshes: MeshTable, *, even: bool) -> None:
    target = reshard.sharding.data
    source = source or fully_closed(target.mesh, target.rank)
    if source.is_fully_replicated and target.is_fully_replicated:
        value: SSAValue = reshard.input
    else:
        value = _without_barriers(reshard.input)
        for step in _steps(source, target, value, meshes, even=even):
            op = _collective(step, value)
            value = insert(op, InsertPoint.before(reshard), reshard.location).result
    reshard.result.replace_all_uses_with(value)
    reshard.detach()
    reshard.erase()


def _steps(
    source: TensorSharding, target: TensorSharding, value: SSAValue, meshes: MeshTable, *, even: bool
) -> tuple[ReshardStep, ...]:
    mesh = resolved(source.mesh, meshes)
    shape = value_shape(value.type)
    assert mesh is not None  # checked by `is_expressible`
    assert not isinstance(shape, Shapeless)  # its sharding has axes
    if target.is_fully_replicated:
        # No change of the order of devices for a value that is the same on all of them.
        target = replace(fully_closed_like(target), mesh=source.mesh)
    elif resolved(target.mesh, meshes) == mesh:
        target = replace(target, mesh=source.mesh)  # another name is no permutation
    steps = schedule(source, target, shape, mesh)
    if not even or (_go_together(source, target) and _divide(steps, shape, mesh)):
        return steps
    return gather_and_slice(source, target, mesh)


def _go_together(source: TensorSharding, target: TensorSharding) -> bool:
    """Whether all sub-axes of both fit into one order of the devices along each axis."""
    refs = [ref for sharding in (source, target) for dim in sharding.dims for ref in dim.axes]
    return all(coexist(one, other) for one, other in combinations(refs, 2))


def _divide(steps: Sequence[ReshardStep], shape: Shape, mesh: Mesh) -> bool:
    return all(local_shape(shape, step.sharding, mesh, allow_uneven=False) is not None for step in steps)


def _without_barriers(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, PropagationBarrierOp):
        value = value.owner.input
    return value


def _collective(step: ReshardStep, value: SSAValue) -> CollectiveOp:
    collective = step.collective
    match collective:
        case AllGather(axes=axes):
            return AllGatherOp(value, axes, step.sharding)
        case AllSlice(axes=axes):
            return AllSliceOp(value, axes, step.sharding)
        case AllToAll(params=params):
            return AllToAllOp(value, params, step.sharding)
        case CollectivePermute():
            return CollectivePermuteOp(value, step.sharding)
        case _:
            assert_never(collective)
