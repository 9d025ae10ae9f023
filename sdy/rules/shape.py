"""Rules of ops that move or repeat elements without computing.

Source: docs/spec/03, 5.5, 5.6, 5.22, 5.23 and 5.26.
"""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import shape as ops
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules.reshape_factors import reshape_rule
from sdy.rules.tensors import operand_and_result_ranks, shape_or_empty

RULES = OpTable[OpShardingRule | None]()


@RULES.of(ops.BroadcastInDimOp)
def broadcast_in_dim(op: ops.BroadcastInDimOp) -> OpShardingRule:
    """`([i]) -> ([i, j])`: one factor per result dim. An operand dim of size 1 that is expanded has its own factor."""
    operand, result = shape_or_empty(op.operand), shape_or_empty(op.result)
    source = {target: dim for dim, target in enumerate(op.broadcast_dimensions.get_values())}
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for target, size in enumerate(result):
        dim = source.get(target)
        if dim is not None and operand[dim] == 1 != size:
            builder.factor(1, operands=(dim,), results=(None,))
            dim = None
        builder.factor(size, operands=(dim,), results=(target,))
    return builder.build()


@RULES.of(ops.TransposeOp)
def transpose(op: ops.TransposeOp) -> OpShardingRule:
    """`([j, i]) -> ([i, j])`, with factors in the order of the result dims."""
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for target, dim in enumerate(op.permutation.get_values()):
        builder.factor(shape_or_empty(op.operand)[dim], operands=(dim,), results=(target,))
    return builder.build()


@RULES.of(ops.ReshapeOp)
def reshape(op: ops.ReshapeOp) -> OpShardingRule | None:
    """Dims split and merge along shared factors; none for empty tensors."""
    return reshape_rule(shape_or_empty(op.operand), shape_or_empty(op.result))


@RULES.of(ops.ReverseOp)
def reverse(op: ops.ReverseOp) -> OpShardingRule:
    """`([i, j]) -> ([i, j])`; along a reversed dim, devices exchange shards."""
    reversed_dims = op.dimensions.get_values()
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, size in enumerate(shape_or_empty(op.result)):
        builder.spread(dim, size, FactorKind.PERMUTATION if dim in reversed_dims else FactorKind.PASS_THROUGH)
    return builder.build()


@RULES.of(ops.BitcastConvertOp)
def bitcast_convert(op: ops.BitcastConvertOp) -> OpShardingRule:
    """`([i]) -> ([i, j])`: the dim of the parts of an element, in the operand or in the result, needs replication."""
    operand, result = shape_or_empty(op.operand), shape_or_empty(op.result)
    builder = RuleBuilder(*operand_and_result_ranks(op)).pointwise(min(operand, result, key=len))
    if len(operand) > len(result):
        builder.factor(operand[-1], operands=(len(operand) - 1,), results=(None,), kind=FactorKind.NEED_REPLICATION)
    elif len(result) > len(operand):
        builder.factor(result[-1], operands=(None,), results=(len(result) - 1,), kind=FactorKind.NEED_REPLICATION)
    return builder.build()
