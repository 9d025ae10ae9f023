"""Canonicalization of single collectives, and of pairs that cancel.

Source: docs/spec/01, 7.3. The fusion with slices is in `reduce_scatter_patterns`.
"""

from __future__ import annotations

from itertools import chain

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from sdy.dialects.meshes import visible_meshes
from sdy.dialects.sdy.collectives import (
    AllGatherOp,
    AllReduceOp,
    AllSliceOp,
    AllToAllOp,
    CollectiveOp,
    CollectivePermuteOp,
    ReduceScatterOp,
    ReplicatedToUnreducedOp,
    ShardedToUnreducedOp,
)
from sdy.dialects.shardings import sharding_of
from sdy.model.axis_list import sort_and_merge
from sdy.model.equivalence import is_equivalent
from sdy.model.mesh_table import resolve_mesh


class DropEmptyAllGather(RewritePattern):
    """Erase an all-gather over no axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllGatherOp, rewriter: PatternRewriter) -> None:
        if not any(op.gathering_axes.data):
            _forward(op, rewriter)


class DropEmptyAllSlice(RewritePattern):
    """Erase an all-slice over no axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllSliceOp, rewriter: PatternRewriter) -> None:
        if not any(op.slicing_axes.data):
            _forward(op, rewriter)


class DropEmptyReduceScatter(RewritePattern):
    """Erase a reduce-scatter over no axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReduceScatterOp, rewriter: PatternRewriter) -> None:
        if not any(op.reduce_scatter_axes.data):
            _forward(op, rewriter)


class DropEmptyAllReduce(RewritePattern):
    """Erase an all-reduce over no axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllReduceOp, rewriter: PatternRewriter) -> None:
        if not op.reduction_axes.data:
            _forward(op, rewriter)


class DropIdentityPermute(RewritePattern):
    """Erase a collective-permute to the sharding of its operand.

    One that changes the mesh of a replicated tensor stays if a collective uses the result, since the operand and the
    result of a collective must be on the same mesh.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CollectivePermuteOp, rewriter: PatternRewriter) -> None:
        source, target = sharding_of(op.tensor), op.out_sharding.data
        changes_mesh = source is not None and source.mesh != target.mesh
        if is_equivalent(source, target) and not (
            changes_mesh and any(isinstance(use.operation, CollectiveOp) for use in op.result.uses)
        ):
            _forward(op, rewriter)


class DropUnusedAllToAll(RewritePattern):
    """Erase an all-to-all without users."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllToAllOp, rewriter: PatternRewriter) -> None:
        if op.result.first_use is None:
            _forward(op, rewriter)


class SliceOfGather(RewritePattern):
    """Fold an all-slice of an all-gather along the same axes in each dim."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllSliceOp, rewriter: PatternRewriter) -> None:
        inner = op.tensor.owner
        if isinstance(inner, AllGatherOp) and inner.gathering_axes.data == op.slicing_axes.data:
            rewriter.replace(op, [], [inner.tensor])


class ReduceOfReplicated(RewritePattern):
    """Fold an all-reduce of a `replicated_to_unreduced`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllReduceOp, rewriter: PatternRewriter) -> None:
        inner = op.tensor.owner
        if isinstance(inner, ReplicatedToUnreducedOp) and inner.axes.data == op.reduction_axes.data:
            rewriter.replace(op, [], [inner.tensor])


class ReduceOfSharded(RewritePattern):
    """Replace an all-reduce of a `sharded_to_unreduced` by an all-gather."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllReduceOp, rewriter: PatternRewriter) -> None:
        inner = op.tensor.owner
        if not isinstance(inner, ShardedToUnreducedOp):
            return
        mesh = resolve_mesh(inner.out_sharding.data.mesh, visible_meshes(op))
        axes = inner.axes.data
        if mesh is not None and sort_and_merge(chain.from_iterable(axes), mesh) == op.reduction_axes.data:
            gather = AllGatherOp(inner.tensor, axes, op.out_sharding.data)
            replace_at(op, gather, rewriter)


class AllToAllOfAllToAll(RewritePattern):
    """Merge two consecutive all-to-alls that use different dims."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllToAllOp, rewriter: PatternRewriter) -> None:
        inner = op.tensor.owner
        if not isinstance(inner, AllToAllOp) or not inner.result.has_one_use():
            return
        params = (*inner.params.data, *op.params.data)
        dims = [dim for param in params for dim in (param.source, param.target)]
        if len(set(dims)) == len(dims):
            ordered = tuple(sorted(params, key=lambda param: param.source))
            replace_at(op, AllToAllOp(inner.tensor, ordered, op.out_sharding.data), rewriter)
            rewriter.erase(inner)


def replace_at(op: CollectiveOp, replacement: CollectiveOp, rewriter: PatternRewriter) -> None:
    """Replace `op` by `replacement`, with the same location."""
    replacement.location = op.location
    rewriter.replace(op, replacement)


def _forward(op: CollectiveOp, rewriter: PatternRewriter) -> None:
    """Replace the result of `op` by its operand."""
    rewriter.replace(op, [], [op.tensor])
