"""Rules of products: batching and free dims pass through, contracting dims are reduced.

Source: docs/spec/03, 5.11 and 5.12.
"""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import contraction as ops
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules.tensors import operand_and_result_ranks, shape_or_empty

RULES = OpTable[OpShardingRule | None]()


@RULES.of(ops.DotOp)
def dot(op: ops.DotOp) -> OpShardingRule:
    """`([i, k], [k, j]) -> ([i, j])`; either operand may be a vector."""
    lhs, rhs = shape_or_empty(op.lhs), shape_or_empty(op.rhs)
    builder = RuleBuilder(*operand_and_result_ranks(op))
    if len(lhs) == 2:
        builder.factor(lhs[0], operands=(0, None), results=(0,))
    if len(rhs) == 2:
        builder.factor(rhs[1], operands=(None, 1), results=(len(lhs) - 1,))
    return builder.factor(rhs[0], operands=(len(lhs) - 1, 0), results=(None,), kind=FactorKind.REDUCTION).build()


@RULES.of(ops.DotGeneralOp)
def dot_general(op: ops.DotGeneralOp) -> OpShardingRule:
    """`([b, i, k], [b, k, j]) -> ([b, i, j])`: batching pairs, free dims of lhs and rhs, contracting pairs, in this
    order.
    """
    dims = op.dot_dimension_numbers.data
    lhs, rhs = shape_or_empty(op.lhs), shape_or_empty(op.rhs)
    builder = RuleBuilder(*operand_and_result_ranks(op))
    result_dim = 0
    for left, right in zip(dims.lhs_batching_dimensions, dims.rhs_batching_dimensions, strict=True):
        builder.factor(lhs[left], operands=(left, right), results=(result_dim,))
        result_dim += 1
    for left, size in enumerate(lhs):
        if left not in dims.lhs_batching_dimensions and left not in dims.lhs_contracting_dimensions:
            builder.factor(size, operands=(left, None), results=(result_dim,))
            result_dim += 1
    for right, size in enumerate(rhs):
        if right not in dims.rhs_batching_dimensions and right not in dims.rhs_contracting_dimensions:
            builder.factor(size, operands=(None, right), results=(result_dim,))
            result_dim += 1
    for left, right in zip(dims.lhs_contracting_dimensions, dims.rhs_contracting_dimensions, strict=True):
        builder.factor(lhs[left], operands=(left, right), results=(None,), kind=FactorKind.REDUCTION)
    return builder.build()
