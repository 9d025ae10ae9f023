"""Rules of StableHLO's collectives: the dims that they rearrange need replication.

Source: docs/spec/03, 4 and 5.1 to 5.3.
"""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import collectives as ops
from sdy.model.rule import FactorKind, OpShardingRule
from sdy.model.rule_builder import RuleBuilder
from sdy.rules.elementwise import pointwise
from sdy.rules.tensors import operand_and_result_ranks, shape_or_empty

RULES = OpTable[OpShardingRule | None]()
RULES.of(ops.AllReduceOp, ops.CollectiveBroadcastOp, ops.CollectivePermuteOp, ops.CrossReplicaSumOp)(pointwise)

CollectiveOp = ops.AllGatherOp | ops.ReduceScatterOp | ops.AllToAllOp


@RULES.of(ops.AllGatherOp)
def all_gather(op: ops.AllGatherOp) -> OpShardingRule:
    """`([i, k]) -> ([i, l])`: the gathered dim has one factor in the operand and another in the result."""
    return _rearranged(op, (op.all_gather_dim.value.data,))


@RULES.of(ops.ReduceScatterOp)
def reduce_scatter(op: ops.ReduceScatterOp) -> OpShardingRule:
    """`([i, k]) -> ([i, l])`: the scattered dim has one factor in the operand and another in the result."""
    return _rearranged(op, (op.scatter_dimension.value.data,))


@RULES.of(ops.AllToAllOp)
def all_to_all(op: ops.AllToAllOp) -> OpShardingRule:
    """`([j, l]) -> ([k, m])`: the split and concatenated dims have separate factors in operand and result."""
    dims = dict.fromkeys((op.split_dimension.value.data, op.concat_dimension.value.data))
    return _rearranged(op, tuple(dims))


def _rearranged(op: CollectiveOp, dims: tuple[int, ...]) -> OpShardingRule:
    operand, result = shape_or_empty(op.operands[0]), shape_or_empty(op.results[0])
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, size in enumerate(operand):
        if dim not in dims:
            builder.spread(dim, size)
    for dim in dims:
        builder.spread(dim, operand[dim], FactorKind.NEED_REPLICATION, in_results=False)
        builder.spread(dim, result[dim], FactorKind.NEED_REPLICATION, in_operands=False)
    return builder.build()
