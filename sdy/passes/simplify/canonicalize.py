"""Canonicalize a module: labelled groups of patterns, equal constants, dead ops.

Constants are merged and dead ops erased for every choice of groups. Source: docs/spec/04, 6.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, RewritePattern
from xdsl.traits import HasCanonicalizationPatternsTrait

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
# The ops of `sdy` that patterns match. A module has few of them, so the other ops need not be tried.
TARGETS = frozenset(op for op in SDY.operations if issubclass(op, CollectiveOp | ReshardOp | ManualComputationOp))


@dataclass(frozen=True)
class CanonicalizePass(ModulePass):
    """Apply canonicalization patterns until none applies: those with the given labels, by default all.

    MLIR's other options are accepted. They bound or order its driver, and do not change what patterns converge to.
    """

    name = "canonicalize"

    enable_patterns: tuple[str, ...] = ()
    disable_patterns: tuple[str, ...] = ()
    top_down: bool = True
    region_simplify: Literal["disabled", "normal", "aggressive"] = "normal"
    cse_between_iterations: bool = False
    max_iterations: int = 10
    max_num_rewrites: int = -1
    test_convergence: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Simplify the module in place."""
        _simplify(op, op_order(op).ops, self._patterns(), with_declared=not self.enable_patterns)

    def _patterns(self) -> tuple[RewritePattern, ...]:
        labels = (*self.enable_patterns, *self.disable_patterns)
        unknown = next((label for label in labels if label not in LABELLED_PATTERNS), None)
        if unknown is not None:
            message = f'unknown label "{unknown}" of canonicalization patterns'
            raise SdyError(Diagnostic("SDY-T106", message, hint=f"labels: {', '.join(LABELLED_PATTERNS)}"))
        disabled = [pattern for label in self.disable_patterns for pattern in LABELLED_PATTERNS[label]]
        enabled = [pattern for label in self.enable_patterns for pattern in LABELLED_PATTERNS[label]]
        return tuple(pattern for pattern in enabled or ALL_PATTERNS if pattern not in disabled)


def simplify(scope: Operation) -> None:
    """Simplify `scope`, a module or a function, in place."""
    _simplify(scope, pre_order(scope), ALL_PATTERNS, with_declared=True)


def _simplify(
    scope: Operation, ops: Sequence[Operation], patterns: tuple[RewritePattern, ...], *, with_declared: bool
) -> None:
    """Simplify `scope`, whose ops are `ops`; ops are collected again after each round that changed any.

    Op classes of other dialects declare their patterns by a trait; they are applied if `with_declared`.
    """
    unique_constants(ops)
    applier = GreedyRewritePatternApplier(list(patterns))
    for _ in range(MAX_ROUNDS):
        erased = erase_dead_ops(ops)
        if not (_rewrite_all(ops, applier, with_declared=with_declared) or erased):
            return
        ops = pre_order(scope)


def _rewrite_all(ops: Sequence[Operation], applier: GreedyRewritePatternApplier, *, with_declared: bool) -> bool:
    """Try the patterns once on each op that one may match, in program order; return whether any op changed."""
    changed = False
    for op in [inner for inner in ops if type(inner) in TARGETS or (with_declared and _declared(type(inner)))]:
        if op.parent is not None:  # not erased by an earlier rewrite
            rewriter = PatternRewriter(op)
            (_declared(type(op)) or applier).match_and_rewrite(op, rewriter)
            changed |= rewriter.has_done_action
    return changed


@cache
def _declared(op_class: type[Operation]) -> GreedyRewritePatternApplier | None:
    """Return the patterns that an op class declares; None if it declares none."""
    found = op_class.get_trait(HasCanonicalizationPatternsTrait)
    return None if found is None else GreedyRewritePatternApplier(list(found.get_canonicalization_patterns()))
