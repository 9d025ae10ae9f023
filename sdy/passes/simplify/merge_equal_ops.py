"""Compute equal values once: merge equal ops, and equal calls of functions without effects.

    before  %0 = call @roll(%a)    %1 = reverse %a    %2 = call @roll(%a)    %3 = multiply %2, %1
    after   %0 = call @roll(%a)    %1 = reverse %a    %3 = multiply %0, %1

Ops are equal if their shardings are. Constants and their broadcasts stay where they are used: any device can compute
any shard of them, and they would be alive for long.
Requires: closed shardings.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from sdy.dialects.facts.traits import generates
from sdy.dialects.ir.symbols import functions_of
from sdy.dialects.ir.walk import pre_order
from sdy.dialects.stablehlo.shape import BroadcastInDimOp
from sdy.passes.rewriting.call_graph import callee_name, callees_first
from sdy.passes.rewriting.op_traits import is_erasable
from sdy.passes.simplify.cse import OpMerger


class MergeEqualOpsPass(ModulePass):
    """Merge equal ops and calls without effects."""

    name = "sdy-merge-equal-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Find the functions without effects, then merge ops in all functions."""
        pure: set[str] = set()

        def is_pure(inner: Operation) -> bool:
            return callee_name(inner) in pure if isinstance(inner, CallOp) else is_erasable(inner)

        for func in callees_first(op):
            inside = [inner for inner in pre_order(func) if inner is not func and not inner.has_trait(IsTerminator)]
            if all(map(is_pure, inside)):
                pure.add(func.sym_name.data)
        merger = OpMerger(is_pure, lambda inner: generates(inner) or isinstance(inner, BroadcastInDimOp))
        for func in functions_of(op).values():
            merger.visit_regions(func, [])
