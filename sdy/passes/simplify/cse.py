"""Eliminate common subexpressions and dead ops.

    before  %0 = add %a, %a    %1 = add %a, %a    %2 = multiply %0, %1
    after   %0 = add %a, %a    %2 = multiply %0, %0

Equal ops have equal attributes, shardings included. Source: docs/spec/04, 6.3.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from sdy.dialects.ir.fast_ops import operands_of, replace_uses
from sdy.dialects.sdy.collectives import CollectiveOp
from sdy.dialects.sdy.ops import DataFlowEdgeOp, FuncDataFlowEdgeOp, ShardingConstraintOp
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_traits import is_erasable

KEPT_APART = (CollectiveOp, DataFlowEdgeOp, FuncDataFlowEdgeOp, ShardingConstraintOp)

OpKey = tuple[object, ...]
Known = dict[OpKey, list[Operation]]  # visible ops; those with regions may differ in them


@dataclass(frozen=True)
class CsePass(ModulePass):
    """Merge equal ops without effects, also across regions; erase dead ops."""

    name = "cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit all regions; an isolated region does not see values from outside."""
        _visit_regions(op, [])


def _visit_regions(op: Operation, scopes: list[Known]) -> None:
    outer = [] if op.has_trait(IsolatedFromAbove, value_if_unregistered=False) else scopes
    for block in [block for region in op.regions for block in region.blocks]:
        _visit_block(block, [*outer, {}])


def _visit_block(block: Block, scopes: list[Known]) -> None:
    dead: list[Operation] = []
    for op in list(block.ops):
        if op.regions:
            _visit_regions(op, scopes)
        if not is_erasable(op):
            continue
        if all(result.first_use is None for result in op.results):
            dead.append(op)
        elif not isinstance(op, KEPT_APART):
            _merge(op, scopes)
    for op in reversed(dead):
        erase(op)


def _merge(op: Operation, scopes: list[Known]) -> None:
    key = _key(op)
    for known in scopes:
        for first in known.get(key, ()):
            if _have_equal_regions(op, first):
                for result, replacement in zip(op.results, first.results, strict=True):
                    replace_uses(result, replacement)
                erase(op)
                return
    scopes[-1].setdefault(key, []).append(op)


def _have_equal_regions(op: Operation, other: Operation) -> bool:
    pairs = zip(op.regions, other.regions, strict=True)
    return all(region.is_structurally_equivalent(other_region) for region, other_region in pairs)


def _key(op: Operation) -> OpKey:
    types = [result.type for result in op.results]
    return type(op), operands_of(op), *types, _sorted(op.properties), _sorted(op.attributes), len(op.regions)


def _sorted(attributes: dict[str, Attribute]) -> tuple[tuple[str, Attribute], ...]:
    return tuple(sorted(attributes.items(), key=lambda entry: entry[0]))
