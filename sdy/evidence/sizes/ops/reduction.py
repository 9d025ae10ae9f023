"""Ties of reductions."""

from __future__ import annotations

from sdy.dialects.ir.op_table import OpTable
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
