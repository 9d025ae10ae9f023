"""Remove the ops that assign tensors to sharding groups. Source: docs/spec/04, 4.8."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.dialects.sdy.ops import ShardingGroupOp
from sdy.passes.rewriting.insertion import erase
from sdy.passes.rewriting.op_order import keep_order, op_order


class RemoveShardingGroupsPass(ModulePass):
    """Remove sharding groups after propagation."""

    name = "sdy-remove-sharding-groups"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Remove all sharding group ops, in regions too."""
        found = op_order(op).of(ShardingGroupOp)
        for group in found:
            erase(group)
        if not found:
            keep_order(op)
