"""Canonicalize a module: labelled groups of patterns, equal constants, dead ops.

Constants are merged and dead ops erased for every choice of groups. Source: docs/spec/04, 6.1.
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
# The ops that patterns match. A module has few of them, so the other ops need not be tried.
TARGETS = frozenset(op for op in SDY.operations if issubclass(op, CollectiveOp | ReshardOp | ManualComputationOp))


@dataclass(frozen=True)
class CanonicalizePass(ModulePass):
    """Apply canonicalization patterns until none applies: those with the given labels, by default all."""

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
            message = f'unknown label "{unknown}" of canonicalization patterns'
            raise SdyError(Diagnostic("SDY-T106", message, hint=f"labels: {', '.join(LABELLED_PATTERNS)}"))
        return tuple(pattern for label in self.enable_patterns for pattern in LABELLED_PATTERNS[label])


def simplify(scope: Operation) -> None:
    """Simplify `scope`, a module or a function, in place."""
    _simplify(scope, pre_order(scope), ALL_PATTERNS)


def _simplify(scope: Operation, ops: Sequence[Operation], patterns: tuple[RewritePattern, ...]) -> None:
    """Simplify `scope`, whose ops are `ops`; ops are collected again after each round that changed any."""
    unique_constants(ops)
    applier = GreedyRewritePatternApplier(list(patterns))
    for _ in range(MAX_ROUNDS):
        erased = erase_dead_ops(ops)
        if not (_rewrite_all(ops, applier) or erased):
            return
        ops = pre_order(scope)


def _rewrite_all(ops: Sequence[Operation], applier: GreedyRewritePatternApplier) -> bool:
    """Try the patterns once on each op that one may match, in program order; return whether any op changed."""
    changed = False
    for op in [inner for inner in ops if type(inner) in TARGETS]:
        if op.parent is not None:  # not erased by an earlier rewrite
            rewriter = PatternRewriter(op)
            applier.match_and_rewrite(op, rewriter)
            changed |= rewriter.has_done_action
    return changed
