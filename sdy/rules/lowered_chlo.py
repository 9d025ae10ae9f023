"""Sharding rules of CHLO ops for programs that XLA would lower to StableHLO before propagation.

Shardy itself has no rules for CHLO. XLA keeps only `top_k` and `erf`, which then have rules of their own.
"""

from __future__ import annotations

from sdy.dialects.chlo import elementwise as chlo
from sdy.dialects.chlo.structured import TopKOp
from sdy.dialects.ir.op_table import OpTable
from sdy.model.rule import OpShardingRule
from sdy.rules.custom_calls import top_k
from sdy.rules.elementwise import pointwise

LOWERED_CHLO_RULES = OpTable[OpShardingRule | None]()
LOWERED_CHLO_RULES.of(*chlo.OPS)(pointwise)
LOWERED_CHLO_RULES.of(TopKOp)(top_k)
