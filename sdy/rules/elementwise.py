"""Rules of element-wise ops: all tensors share one factor per dim. Source: docs/spec/03, 4 and 5.8."""

from __future__ import annotations

from xdsl.ir import Operation

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import ShardingConstraintOp
from sdy.dialects.stablehlo import elementwise as ops
from sdy.model.rule import OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules.tensors import is_shaped, operand_and_result_ranks, shape_or_empty

RULES = OpTable[OpShardingRule | None]()


def pointwise(op: Operation) -> OpShardingRule | None:
    """`([i, j], [i, j]) -> ([i, j])`, with the sizes of the first result; none if that is a token.

    Scalars, such as the bounds of a clamp, have no factors.
    """
    if not is_shaped(op.results[0]):
        return None
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, size in enumerate(shape_or_empty(op.results[0])):
        dims = tuple(tuple(dim if dim < rank else None for rank in ranks) for ranks in operand_and_result_ranks(op))
        builder.factor(size, operands=dims[0], results=dims[1])
    return builder.build()


# Shardy propagates nothing through these ops; the partitioner has a rule for them.
QUANTIZING = (ops.UniformQuantizeOp, ops.UniformDequantizeOp)
RULES.of(*(each for each in ops.OPS if each not in QUANTIZING), ShardingConstraintOp)(pointwise)
