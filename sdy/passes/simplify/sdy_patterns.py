"""The canonicalization patterns of the `sdy` dialect, in the groups that a pipeline can choose.

Source: docs/spec/01, 7; groups: docs/spec/04, 6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from sdy.dialects.meshes import visible_meshes
from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.dialects.sdy.ops import ReturnOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.model.mesh_table import common_mesh
from sdy.passes.simplify.collective_patterns import (
    AllToAllOfAllToAll,
    DropEmptyAllGather,
    DropEmptyAllReduce,
    DropEmptyAllSlice,
    DropEmptyReduceScatter,
    DropIdentityPermute,
    DropUnusedAllToAll,
    ReduceOfReplicated,
    ReduceOfSharded,
    SliceOfGather,
)
from sdy.passes.simplify.reduce_scatter_patterns import FuseReduceAndSlice
from sdy.passes.simplify.reshard_patterns import ReshardOfReshard, ReuseReshard


class DropUnusedOperands(RewritePattern):
    """Remove operands whose block argument has no uses, with the argument and its sharding."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ManualComputationOp, rewriter: PatternRewriter) -> None:
        arguments = op.body.block.args
        used = [index for index, argument in enumerate(arguments) if argument.first_use is not None]
        if len(used) == len(arguments):
            return
        op.in_shardings = TensorShardingPerValueAttr(tuple(op.in_shardings.data[index] for index in used))
        op.operands = [op.operands[index] for index in used]
        for argument in [argument for argument in arguments if argument.first_use is None]:
            rewriter.erase_block_argument(argument)
        rewriter.notify_op_modified(op)


class InlineRedundant(RewritePattern):
    """Inline a computation that is empty, or whose manual axes have one device."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ManualComputationOp, rewriter: PatternRewriter) -> None:
        block = op.body.block
        if not (op.in_shardings.data or op.out_shardings.data) and isinstance(block.first_op, ReturnOp):
            rewriter.erase(op)
            return
        if _manual_devices(op) != 1:
            return
        terminator = block.last_op
        assert isinstance(terminator, ReturnOp)
        rewriter.inline_block(block, InsertPoint.before(op), op.operands)
        rewriter.replace(op, [], list(terminator.operands))
        rewriter.erase(terminator)


def _manual_devices(op: ManualComputationOp) -> int:
    """Return the number of devices along the manual axes; 1 if no sharding names a mesh."""
    shared = common_mesh((*op.in_shardings.data, *op.out_shardings.data), visible_meshes(op))
    return 1 if shared is None else prod(shared.mesh.axis_size(axis) for axis in op.manual_axes.data)


RESHARD_PATTERNS: tuple[RewritePattern, ...] = (ReshardOfReshard(),)
COLLECTIVE_PATTERNS: tuple[RewritePattern, ...] = (
    DropEmptyAllGather(),
    DropEmptyAllSlice(),
    DropEmptyReduceScatter(),
    DropEmptyAllReduce(),
    DropIdentityPermute(),
    SliceOfGather(),
    ReduceOfReplicated(),
    ReduceOfSharded(),
    DropUnusedAllToAll(),
    AllToAllOfAllToAll(),
    FuseReduceAndSlice(),
)
UNLABELLED_PATTERNS: tuple[RewritePattern, ...] = (DropUnusedOperands(), InlineRedundant(), ReuseReshard())

# The labels that the option `enable-patterns` accepts.
LABELLED_PATTERNS: Mapping[str, tuple[RewritePattern, ...]] = {
    "sdy-reshard": RESHARD_PATTERNS,
    "sdy-collective": COLLECTIVE_PATTERNS,
}
ALL_PATTERNS: tuple[RewritePattern, ...] = (*RESHARD_PATTERNS, *COLLECTIVE_PATTERNS, *UNLABELLED_PATTERNS)
