"""Propagate through CHLO ops as XLA does, which lowers them to StableHLO before propagation.

    before  %0 = chlo.square %x
    after   %0 = chlo.square %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=4}>}

Rules instead of the lowered ops keep programs short: XLA replaces `chlo.lgamma` by a hundred ops. The rules are removed
after propagation, because they do not describe how the ops run on shards.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from sdy.dialects.sdy.attrs import OpShardingRuleAttr
from sdy.passes.rewriting.op_order import keep_order, op_order
from sdy.rules.all import RULE_ATTRIBUTE, drop_rules
from sdy.rules.partitioner_rules import LOWERED_CHLO_RULES


class PopulateChloShardingRulesPass(ModulePass):
    """Attach rules to the CHLO ops that XLA lowers before propagation."""

    name = "sdy-populate-chlo-sharding-rules"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit every CHLO op. Existing rule attributes stay."""
        for inner in _lowered_ops(op):
            rule = LOWERED_CHLO_RULES.get(inner)
            if rule is not None and RULE_ATTRIBUTE not in inner.attributes:
                inner.attributes[RULE_ATTRIBUTE] = OpShardingRuleAttr(rule)
        keep_order(op)


class DropChloShardingRulesPass(ModulePass):
    """Remove the rules of CHLO ops except custom ones of the user."""

    name = "sdy-drop-chlo-sharding-rules"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit every CHLO op."""
        drop_rules(_lowered_ops(op))
        keep_order(op)


def _lowered_ops(module: ModuleOp) -> Iterator[Operation]:
    return (op for op in op_order(module).ops if type(op) in LOWERED_CHLO_RULES)
