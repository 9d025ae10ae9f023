"""Rule of `reduce`: the reduced dims have no counterpart in the results. Source: docs/spec/03, 5.19."""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import reduction as ops
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules.tensors import operand_and_result_ranks, shape_or_empty

RULES = OpTable[OpShardingRule | None]()


@RULES.of(ops.ReduceOp)
def reduce(op: ops.ReduceOp) -> OpShardingRule:
    """`([i, j], []) -> ([i])`, where j is reduced. The body has no influence; initial values are not mapped."""
    count = len(op.inputs)
    reduced = op.dimensions.get_values()
    builder = RuleBuilder(*operand_and_result_ranks(op))
    result_dim = 0
    for dim, size in enumerate(shape_or_empty(op.inputs[0])):
        operands = (*(dim,) * count, *(None,) * count)
        if dim in reduced:
            builder.factor(size, operands=operands, results=(None,) * count, kind=FactorKind.REDUCTION)
        else:
            builder.factor(size, operands=operands, results=(result_dim,) * count)
            result_dim += 1
    return builder.build()
