"""Attach its sharding rule to every op. Source: docs/spec/02, 1.2."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from sdy.dialects.ir.walk import post_order
from sdy.dialects.sdy.attrs import OpShardingRuleAttr
from sdy.rules.all import RULE_ATTRIBUTE, RuleSource


@dataclass(frozen=True)
class PopulateOpShardingRulesPass(ModulePass):
    """Attach its rule to each op that has one and does not carry one yet."""

    name = "sdy-populate-op-sharding-rules"

    conservative_propagation: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Visit every op. Existing rule attributes stay."""
        rule_of = RuleSource(ctx, conservative=self.conservative_propagation)
        for inner in post_order(op):
            rule = rule_of(inner)
            if rule is not None and RULE_ATTRIBUTE not in inner.attributes:
                inner.attributes[RULE_ATTRIBUTE] = OpShardingRuleAttr(rule)
