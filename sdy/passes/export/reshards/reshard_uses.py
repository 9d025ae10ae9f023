"""Reshard one use of a value to the sharding that its user requires. Source: docs/spec/05, 1.3 and 1.7."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from sdy.dialects.data_flow import EdgeSource
from sdy.dialects.sdy.collectives import AllReduceOp, ReplicatedToUnreducedOp, ShardedToUnreducedOp
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.shardings import sharding_of
from sdy.model.axis import AxisList
from sdy.model.axis_list import is_strict_list_prefix, set_difference, sort_and_merge
from sdy.model.axis_on_mesh import suffix_without
from sdy.model.equivalence import is_equivalent
from sdy.model.mesh import Mesh
from sdy.model.mesh_table import MeshTable
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.model.sharding_update import fully_closed_like
from sdy.passes.rewriting.insertion import insert, location_of


def adapt_use(
    use: EdgeSource, target: TensorSharding | None, point: InsertPoint, meshes: MeshTable, *, full: bool
) -> None:
    """Reduce or unreduce axes as `target` says; if `full`, also reshard to it.

    New ops are inserted at `point`. A target of None means replicated.
    """
    if sharding_of(use.value) == target:  # fast path: nearly all operands of calls
        return
    reduce_use(use, target, point, meshes)
    make_unreduced(use, target, point, meshes)
    current = sharding_of(use.value)
    if full and not is_equivalent(current, target):
        needed = target if target is not None else fully_closed_like(_present(current))
        use.op.operands[use.index] = insert(ReshardOp(use.value, needed), point, location_of(use.value)).result


def reduce_use(use: EdgeSource, target: TensorSharding | None, point: InsertPoint, meshes: MeshTable) -> None:
    """All-reduce a value over its unreduced axes that are not unreduced in `target`."""
    sharding = sharding_of(use.value)
    if sharding is None or not sharding.unreduced:
        return
    mesh = mesh_of(sharding, meshes)
    kept = () if target is None else target.unreduced
    reduced = set_difference(sharding.unreduced, kept, mesh)
    if reduced:
        result = replace(sharding, unreduced=set_difference(sharding.unreduced, reduced, mesh))
        op = AllReduceOp(use.value, sort_and_merge(reduced, mesh), result, sharding.unreduced_kind)
        use.op.operands[use.index] = insert(op, point, location_of(use.value)).result


def make_unreduced(use: EdgeSource, target: TensorSharding | None, point: InsertPoint, meshes: MeshTable) -> bool:
    """Convert sharded or replicated axes to unreduced ones as `target` says; return whether ops were inserted.

    Replicated axes come first, while shards are small.
    """
    sharding = sharding_of(use.value)
    if sharding is None or target is None or not target.unreduced:
        return False
    mesh = mesh_of(target, meshes)
    added = set_difference(target.unreduced, sharding.unreduced, mesh)
    if not added:
        return False
    location = location_of(use.value)
    dims, from_cuts, needs_reshard = _before_unreducing(sharding, target, added, mesh)
    value: SSAValue = use.value
    if needs_reshard:
        value = insert(ReshardOp(value, replace(sharding, dims=dims)), point, location).result
    cut_axes = tuple(axis for axes in from_cuts for axis in axes)
    copied = set_difference(added, cut_axes, mesh)
    if copied:
        unreduced = sort_and_merge((*sharding.unreduced, *copied), mesh)
        result = replace(target, mesh=sharding.mesh, dims=dims, unreduced=unreduced)
        value = insert(ReplicatedToUnreducedOp(value, copied, result), point, location).result
    if cut_axes:
        value = insert(ShardedToUnreducedOp(value, from_cuts, target), point, location).result
    use.op.operands[use.index] = value
    return True


def _before_unreducing(
    sharding: TensorSharding, target: TensorSharding, added: AxisList, mesh: Mesh
) -> tuple[tuple[DimSharding, ...], tuple[AxisList, ...], bool]:
    """Return the dims to start from, the axes per dim that become unreduced, and whether a reshard is needed first."""
    dims: list[DimSharding] = []
    from_cuts: list[AxisList] = []
    needs_reshard = False
    for source, wanted in zip(sharding.dims, target.dims, strict=True):
        cuts: AxisList = ()
        if is_strict_list_prefix(wanted.axes, source.axes):
            beyond = _beyond(source.axes, wanted.axes, mesh)
            if not set_difference(beyond, added, mesh):
                cuts = beyond
        needs_reshard = needs_reshard or (source.axes != wanted.axes and not cuts)
        dims.append(source if cuts else wanted)
        from_cuts.append(cuts)
    return tuple(dims), tuple(from_cuts), needs_reshard


def _beyond(axes: AxisList, prefix: AxisList, mesh: Mesh) -> AxisList:
    """Return the axes of `axes` after its prefix `prefix`."""
    if not prefix:
        return axes
    rest = axes[len(prefix) :]
    last = axes[len(prefix) - 1]
    split = None if last == prefix[-1] else suffix_without(last, prefix[-1], mesh)
    return rest if split is None else (split, *rest)


def mesh_of(sharding: TensorSharding, meshes: MeshTable) -> Mesh:
    """Return the mesh of a verified sharding."""
    return meshes[sharding.mesh] if isinstance(sharding.mesh, str) else sharding.mesh


def _present(sharding: TensorSharding | None) -> TensorSharding:
    assert sharding is not None  # two missing shardings are equivalent
    return sharding
