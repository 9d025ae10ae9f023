"""Rule of the random bit generator. Source: docs/spec/03, 5.24."""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import random as ops
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules.tensors import operand_and_result_ranks, shape_or_empty

RULES = OpTable[OpShardingRule | None]()


@RULES.of(ops.RngBitGeneratorOp)
def rng_bit_generator(op: ops.RngBitGeneratorOp) -> OpShardingRule:
    """`([i]) -> ([i], [j, k])`: the state needs replication, the dims of the bits are independent."""
    state, bits = shape_or_empty(op.operands[0]), shape_or_empty(op.results[1])
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, size in enumerate(state):
        builder.factor(size, operands=(dim,), results=(dim, None), kind=FactorKind.NEED_REPLICATION, is_blocked=True)
    for dim, size in enumerate(bits):
        builder.factor(size, operands=(None,), results=(None, dim))
    return builder.build()
