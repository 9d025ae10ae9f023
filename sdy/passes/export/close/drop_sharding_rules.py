"""Remove the sharding rules that propagation left on ops. Source: docs/spec/04, 4.9."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.passes.rewriting.op_order import keep_order, op_order
from sdy.rules.all import drop_rules


class DropShardingRulesPass(ModulePass):
    """Remove all sharding rules except custom ones of the user."""

    name = "sdy-drop-sharding-rules"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Remove the rules of every op."""
        drop_rules(op_order(op).ops)
        keep_order(op)
