"""Ties of elementwise ops whose values are positions."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.stablehlo import elementwise as ops
from sdy.dialects.stablehlo import shape
from sdy.evidence.sizes.index_values import literal
from sdy.evidence.sizes.ties import Ties, by_rule

TABLE = OpTable[None, [Ties]]()
# Ops whose result is a position along a dim if an operand is one, as far as other ops here do not say otherwise.
MEASURED_ALIKE = (
    ops.AbsOp, ops.AddOp, ops.CeilOp, ops.ClampOp, ops.CompareOp, ops.ConvertOp, ops.FloorOp, ops.MaximumOp,
    ops.MinimumOp, ops.NegateOp, ops.RemainderOp, ops.RoundNearestAfzOp, ops.RoundNearestEvenOp, ops.SubtractOp,
)  # fmt: skip


@TABLE.of(*MEASURED_ALIKE, shape.TransposeOp, shape.ReverseOp, shape.BroadcastInDimOp)
def _measured_alike(op: Operation, ties: Ties) -> None:
    by_rule(op, ties)
    ties.values.same(*op.operands, *op.results)


@TABLE.of(ops.MultiplyOp)
def _multiply(op: ops.MultiplyOp, ties: Ties) -> None:
    """A constant times the index of a shard or of a trip is a position."""
    by_rule(op, ties)
    for constant in (op.lhs, op.rhs):
        if literal(constant) is not None and not _is_float(constant):
            ties.values.same(constant, op.result)


@TABLE.of(ops.DivideOp)
def _divide(op: ops.DivideOp, ties: Ties) -> None:
    by_rule(op, ties)
    if not _is_float(op.result):
        ties.values.same(op.lhs, op.rhs)


@TABLE.of(ops.SelectOp)
def _select(op: ops.SelectOp, ties: Ties) -> None:
    by_rule(op, ties)
    ties.values.same(op.on_true, op.on_false, op.result)


def _is_float(value: SSAValue) -> bool:
    return "f" in str(value.type).rsplit("x", maxsplit=1)[-1]
