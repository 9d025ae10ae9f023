"""The sharding rule of an op: the one it carries, or the one its class has.

Source: spec of the sharding rules, sections 1.6 and 3.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.dialects.op_table import OpTable
from sdy.dialects.sdy.attrs import OpShardingRuleAttr
from sdy.model.rule import OpShardingRule
from sdy.rules import contraction, elementwise, reduction, shape

RULE_ATTRIBUTE = "sdy.sharding_rule"

RULES = OpTable[OpShardingRule | None](elementwise.RULES, contraction.RULES, reduction.RULES, shape.RULES)


def sharding_rule(op: Operation) -> OpShardingRule | None:
    """The rule of `op`; None where nothing propagates through it.

    A rule that the op carries wins, whoever wrote it.
    """
    given = op.attributes.get(RULE_ATTRIBUTE)
    return given.data if isinstance(given, OpShardingRuleAttr) else RULES.get(op)


def drop_rules(module: ModuleOp) -> None:
    """Remove the sharding rules of all ops, but for those that the user wrote as custom."""
    for op in module.walk():
        rule = op.attributes.get(RULE_ATTRIBUTE)
        if isinstance(rule, OpShardingRuleAttr) and not rule.data.is_custom:
            del op.attributes[RULE_ATTRIBUTE]
