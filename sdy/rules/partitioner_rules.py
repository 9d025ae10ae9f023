"""Sharding rules of ops for which Shardy has none. Only the partitioner uses them; propagation does not.

Source: docs/spec/06, 8.1.
"""

from __future__ import annotations

from sdy.dialects.chlo import elementwise as chlo
from sdy.dialects.chlo.structured import TopKOp
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import control, elementwise, linalg, shape
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules.all import RULES
from sdy.rules.elementwise import pointwise
from sdy.rules.tensors import shape_or_empty

PARTITIONER_RULES = OpTable[OpShardingRule | None]()
PARTITIONER_RULES.of(control.MapOp, *chlo.OPS, *(each for each in elementwise.OPS if each not in RULES))(pointwise)


@PARTITIONER_RULES.of(shape.BroadcastOp)
def broadcast(op: shape.BroadcastOp) -> OpShardingRule:
    """`([j]) -> ([i, j])`: new dims come first."""
    sizes = shape_or_empty(op.result)
    new = len(sizes) - len(shape_or_empty(op.operand))
    builder = RuleBuilder((len(sizes) - new,), (len(sizes),))
    for dim, size in enumerate(sizes):
        builder.factor(size, operands=(dim - new if dim >= new else None,), results=(dim,))
    return builder.build()


@PARTITIONER_RULES.of(linalg.BatchNormTrainingOp, linalg.BatchNormGradOp)
def batch_norm(op: linalg.BatchNormTrainingOp | linalg.BatchNormGradOp) -> OpShardingRule:
    """`([i, j], [j], [j]) -> ([i, j], [j], [j])`: j are the features; all other dims are averaged."""
    ranks = ([len(shape_or_empty(value)) for value in values] for values in (op.operands, op.results))
    builder = RuleBuilder(*ranks)
    for dim, size in enumerate(shape_or_empty(op.operand)):
        is_feature = dim == op.feature_index.value.data
        dims = [
            tuple(dim if len(shape_or_empty(value)) > 1 else 0 if is_feature else None for value in values)
            for values in (op.operands, op.results)
        ]
        builder.factor(size, dims[0], dims[1], FactorKind.PASS_THROUGH if is_feature else FactorKind.NEED_REPLICATION)
    return builder.build()


@PARTITIONER_RULES.of(TopKOp)
def top_k(op: TopKOp) -> OpShardingRule:
    """`([i, j]) -> ([i, k], [i, k])`: the k largest elements are selected from the full last dim."""
    *batch, size = shape_or_empty(op.operand)
    last = len(batch)
    builder = RuleBuilder((last + 1,), (last + 1, last + 1))
    for dim, rows in enumerate(batch):
        builder.spread(dim, rows)
    builder.factor(size, operands=(last,), results=(None, None), kind=FactorKind.NEED_REPLICATION)
    builder.factor(op.k.value.data, operands=(None,), results=(last, last), kind=FactorKind.NEED_REPLICATION)
    return builder.build()
