"""The canonicalization of the dialect `mpmd`. Source: docs/spec/07, 3.4, 3.7, 3.11 and 3.12."""

from __future__ import annotations

from xdsl.ir import Use
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from sdy.mpmd.dialect.attrs import Reduction
from sdy.mpmd.dialect.ops import BroadcastOp, ReduceOp, TransferOp
from sdy.mpmd.dialect.regions import FragmentOp
from sdy.mpmd.dialect.syntax import ReturnOp


class PassThroughFragment(RewritePattern):
    """Replace a used result of a fragment that returns an argument of the same type by the operand.

    As in Shardy, of the positions at which an argument is returned only the last one counts.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: FragmentOp, rewriter: PatternRewriter) -> None:
        for argument, operand in zip(op.block.args, op.operands, strict=False):
            use = next((use for use in argument.uses if _is_return_of(use, op)), None)
            if use is None:
                continue
            result = op.results[use.index]
            if result.first_use is not None and result.type == operand.type:
                result.replace_all_uses_with(operand)
                rewriter.notify_op_modified(op)


def _is_return_of(use: Use, op: FragmentOp) -> bool:
    return isinstance(use.operation, ReturnOp) and use.operation.parent is op.block


class SimplifyTransfer(RewritePattern):
    """Join two transfers within one mesh, and remove others to the same type."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransferOp, rewriter: PatternRewriter) -> None:
        inner = op.tensor.owner
        if isinstance(inner, TransferOp) and (inner.source_type.mesh == inner.target_type.mesh == op.target_type.mesh):
            rewriter.replace(op, TransferOp(inner.tensor, op.target_type))
        elif op.tensor.type == op.result.type:
            rewriter.replace(op, [], [op.tensor])


class BroadcastOfBroadcast(RewritePattern):
    """Join two broadcasts."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BroadcastOp, rewriter: PatternRewriter) -> None:
        inner = op.tensor.owner
        if isinstance(inner, BroadcastOp):
            rewriter.replace(op, BroadcastOp.create(operands=[inner.tensor], result_types=[op.result.type]))


class ReduceOfReduce(RewritePattern):
    """Join a reduction with the one that defines an operand, if both are of the same kind or the outer one has none.

    Shardy looks at the first operand alone and drops the others, which changes the value; here they are kept.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReduceOp, rewriter: PatternRewriter) -> None:
        inner = op.tensors[0].owner
        kind = op.reduction.data
        if isinstance(inner, ReduceOp) and kind in (inner.reduction.data, Reduction.NONE):
            if len(op.tensors) == 1:
                rewriter.replace(op, [], [inner.result])
            else:
                rewriter.replace(op, ReduceOp(kind, [*inner.tensors, *op.tensors[1:]]))


PATTERNS: tuple[RewritePattern, ...] = (
    PassThroughFragment(),
    SimplifyTransfer(),
    BroadcastOfBroadcast(),
    ReduceOfReduce(),
)
