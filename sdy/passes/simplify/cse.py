"""Eliminate common subexpressions and dead ops.

    before  %0 = add %a, %a    %1 = add %a, %a    %2 = multiply %0, %1
    after   %0 = add %a, %a    %2 = multiply %0, %0

Equal ops have equal attributes, shardings included. Source: docs/spec/04, 6.3.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sdy.ops import DataFlowEdgeOp, FuncDataFlowEdgeOp, ShardingConstraintOp
from sdy.passes.rewriting.insertion import erase, replace_by
from sdy.passes.rewriting.op_traits import is_erasable
from sdy.passes.rewriting.structural_hash import StructuralHash

# Ops that Shardy does not merge.
KEPT_APART = (CollectiveOp, DataFlowEdgeOp, FuncDataFlowEdgeOp, ShardingConstraintOp)

OpKey = tuple[object, ...]
Known = dict[OpKey, list[Operation]]  # visible ops; those with regions may differ in them


class CsePass(ModulePass):
    """Merge equal ops without effects, also across regions; erase dead ops."""

    name = "cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit all regions; an isolated region does not see values from outside."""
        OpMerger(is_erasable).visit_regions(op, [])


class OpMerger:
    """Merges equal ops without effects, and erases dead ones.

    Equal ops for which `is_repeated` is true stay, but ops that use them can be equal.
    """

    def __init__(
        self, is_pure: Callable[[Operation], bool], is_repeated: Callable[[Operation], bool] = lambda _: False
    ) -> None:
        self._is_pure = is_pure
        self._is_repeated = is_repeated
        self._structure = StructuralHash()
        self._first_equal: dict[SSAValue, SSAValue] = {}  # for results of repeated ops

    def visit_regions(self, op: Operation, scopes: list[Known]) -> None:
        """Merge the ops in the regions of `op`, with each other and with the visible ops in `scopes`."""
        outer = [] if op.has_trait(IsolatedFromAbove, value_if_unregistered=False) else scopes
        for block in [block for region in op.regions for block in region.blocks]:
            self._visit_block(block, [*outer, {}])

    def _visit_block(self, block: Block, scopes: list[Known]) -> None:
        dead: list[Operation] = []
        for op in list(block.ops):
            if op.regions:
                self.visit_regions(op, scopes)
            if not self._is_pure(op):
                continue
            if all(result.first_use is None for result in op.results):
                dead.append(op)
            elif not isinstance(op, KEPT_APART):
                self._merge(op, scopes)
        for op in reversed(dead):
            erase(op)

    def _merge(self, op: Operation, scopes: list[Known]) -> None:
        key = self._key(op)
        for known in scopes:
            for first in known.get(key, ()):
                if _have_equal_regions(op, first):
                    self._replace(op, first)
                    return
        scopes[-1].setdefault(key, []).append(op)

    def _replace(self, op: Operation, first: Operation) -> None:
        if self._is_repeated(op):
            self._first_equal |= dict(zip(op.results, first.results, strict=True))
            return
        replace_by(op, *first.results)

    def _key(self, op: Operation) -> OpKey:
        return self._structure.of(op), *(self._first_equal.get(operand, operand) for operand in operands_of(op))


def _have_equal_regions(op: Operation, other: Operation) -> bool:
    pairs = zip(op.regions, other.regions, strict=True)
    return all(region.is_structurally_equivalent(other_region) for region, other_region in pairs)
