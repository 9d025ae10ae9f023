"""Simplify without changing what is computed: labelled pattern groups, equal constants, dead ops.

Constants are merged and dead ops go whatever groups are chosen. Source: docs/spec/04, 6.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, RewritePattern

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.sdy.ops import ReshardOp
from sdy.dialects.sdy.regions import ManualComputationOp
from sdy.passes.rewriting.dead_code import erase_dead_ops
from sdy.passes.rewriting.op_order import op_order
from sdy.passes.rewriting.unique_constants import unique_constants
from sdy.passes.simplify.sdy_patterns import ALL_PATTERNS, LABELLED_PATTERNS

MAX_ROUNDS = 10
# The ops that patterns match: few in a module, so that the others are not offered to every pattern.
TARGETS = frozenset(op for op in SDY.operations if issubclass(op, CollectiveOp | ReshardOp | ManualComputationOp))


@dataclass(frozen=True)
class CanonicalizePass(ModulePass):
    """Apply canonicalization patterns until none applies; those with one of the labels, or all without a label."""

    name = "canonicalize"

    enable_patterns: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Simplify the module in place."""
        _simplify(op, op_order(op).ops, self._patterns())

    def _patterns(self) -> tuple[RewritePattern, ...]:
        if not self.enable_patterns:
            return ALL_PATTERNS
        unknown = next((label for label in self.enable_patterns if label not in LABELLED_PATTERNS), None)
        if unknown is not None:
            message = f'no canonicalization patterns have the label "{unknown}"'
            raise SdyError(Diagnostic("SDY-T106", message, hint=f"labels: {', '.join(LABELLED_PATTERNS)}"))
        return tuple(pattern for label in self.enable_patterns for pattern in LABELLED_PATTERNS[label])


def simplify(scope: Operation, patterns: tuple[RewritePattern, ...] = ALL_PATTERNS) -> None:
    """Simplify what is inside `scope`, a module or a function, in place."""
    _simplify(scope, pre_order(scope), patterns)


def _simplify(scope: Operation, ops: Sequence[Operation], patterns: tuple[RewritePattern, ...]) -> None:
    """The same where all ops inside `scope` are known; they are found anew after each round that changed some."""
    unique_constants(ops)
    applier = GreedyRewritePatternApplier(list(patterns))
    for _ in range(MAX_ROUNDS):
        erased = erase_dead_ops(ops)
        if not (_rewrite_all(ops, applier) or erased):
            return
        ops = pre_order(scope)


def _rewrite_all(ops: Sequence[Operation], applier: GreedyRewritePatternApplier) -> bool:
    """Offer each op that a pattern may match once, in program order; whether anything changed."""
    changed = False
    for op in [inner for inner in ops if type(inner) in TARGETS]:
        if op.parent is not None:  # not gone with an op before it
            rewriter = PatternRewriter(op)
            applier.match_and_rewrite(op, rewriter)
            changed |= rewriter.has_done_action
    return changed
