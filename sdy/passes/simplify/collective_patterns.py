"""Canonicalization of single collectives, and of pairs that undo each other.

Source: docs/spec/01, 7.3. The fusion with slices is in `canonicalize_reduce_scatter`.
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
    """An all-gather of no axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllGatherOp, rewriter: PatternRewriter) -> None:
        if not any(op.gathering_axes.data):
            _forward(op, rewriter)


class DropEmptyAllSlice(RewritePattern):
    """An all-slice of no axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllSliceOp, rewriter: PatternRewriter) -> None:
        if not any(op.slicing_axes.data):
            _forward(op, rewriter)


class DropEmptyReduceScatter(RewritePattern):
    """A reduce-scatter of no axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReduceScatterOp, rewriter: PatternRewriter) -> None:
        if not any(op.reduce_scatter_axes.data):
            _forward(op, rewriter)


class DropEmptyAllReduce(RewritePattern):
    """An all-reduce of no axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllReduceOp, rewriter: PatternRewriter) -> None:
        if not op.reduction_axes.data:
            _forward(op, rewriter)


class DropIdentityPermute(RewritePattern):
    """A collective-permute to the sharding that there is."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CollectivePermuteOp, rewriter: PatternRewriter) -> None:
        if is_equivalent(sharding_of(op.tensor), op.out_sharding.data):
            _forward(op, rewriter)


class DropUnusedAllToAll(RewritePattern):
    """An all-to-all whose result nobody reads."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllToAllOp, rewriter: PatternRewriter) -> None:
        if op.result.first_use is None:
            _forward(op, rewriter)


class SliceOfGather(RewritePattern):
    """An all-slice of what was gathered, dim by dim the same axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllSliceOp, rewriter: PatternRewriter) -> None:
        inner = op.tensor.owner
        if isinstance(inner, AllGatherOp) and inner.gathering_axes.data == op.slicing_axes.data:
            rewriter.replace(op, [], [inner.tensor])


class ReduceOfReplicated(RewritePattern):
    """An all-reduce of what was made unreduced from replicated."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllReduceOp, rewriter: PatternRewriter) -> None:
        inner = op.tensor.owner
        if isinstance(inner, ReplicatedToUnreducedOp) and inner.axes.data == op.reduction_axes.data:
            rewriter.replace(op, [], [inner.tensor])


class ReduceOfSharded(RewritePattern):
    """An all-reduce of what was made unreduced from sharded is an all-gather."""

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
    """Two all-to-alls in a row that touch different dims are one."""

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
    """Put `replacement` in the place of `op`, in the text too."""
    replacement.location = op.location
    rewriter.replace(op, replacement)


def _forward(op: CollectiveOp, rewriter: PatternRewriter) -> None:
    """Let the users of `op` take its operand."""
    rewriter.replace(op, [], [op.tensor])
