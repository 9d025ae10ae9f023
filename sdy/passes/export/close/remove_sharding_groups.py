"""Remove the ops that put tensors into sharding groups. Source: docs/spec/04, 4.8."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.dialects.sdy.ops import ShardingGroupOp
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import keep_order, op_order


@dataclass(frozen=True)
class RemoveShardingGroupsPass(ModulePass):
    """Forget sharding groups, once propagation has honoured them."""

    name = "sdy-remove-sharding-groups"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Remove every one, regions included."""
        found = op_order(op).of(ShardingGroupOp)
        for group in found:
            erase(group)
        if not found:
            keep_order(op)
