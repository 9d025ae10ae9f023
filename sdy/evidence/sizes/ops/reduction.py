"""Ties of reductions, sorts, and ops that choose the largest elements along a dim."""

from __future__ import annotations

from sdy.dialects.chlo.structured import TopKOp
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo.attributes.types import rank_of
from sdy.dialects.stablehlo.linalg import SortOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.evidence.sizes.ties import Ties, by_rule

TABLE = OpTable[None, [Ties]]()


@TABLE.of(ReduceOp)
def _reduce(op: ReduceOp, ties: Ties) -> None:
    by_rule(op, ties)
    for operand, initial, result in zip(op.inputs, op.init_values, op.result, strict=True):
        ties.values.same(operand, result, initial)
    ties.keep_several(op.body.block, op.inputs[0], ints_of(op.dimensions))


@TABLE.of(SortOp)
def _sort(op: SortOp, ties: Ties) -> None:
    by_rule(op, ties)
    for operand, result in zip(op.inputs, op.result, strict=True):
        ties.values.same(operand, result)
    ties.keep_several(op.comparator.block, op.inputs[0], [op.dimension.value.data])


@TABLE.of(TopKOp)
def _top_k(op: TopKOp, ties: Ties) -> None:
    """Tie all dims but the last one, of which fewer elements stay than there are."""
    rank = rank_of(op.operand)
    ties.same_dims(op.operand, op.values, op.indices, but=(rank - 1,))
    whole, (chosen, other) = ties.of(op.operand)[-1], (ties.of(each)[-1] for each in (op.values, op.indices))
    count = ties.attribute(op, "k", 0, whole)
    ties.tie(count, chosen)
    ties.tie(count, other)
    if ties.classes.sizes[count] == ties.classes.sizes[whole]:
        ties.tie(count, whole)
    else:
        ties.classes.order(count, whole)
    ties.values.same(op.operand, op.values)
    ties.values.position(op.indices, whole)
