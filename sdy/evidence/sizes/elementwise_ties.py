"""Ties of elementwise ops, contractions, reductions and ops that keep shapes."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import DataFlowEdgeOp, PropagationBarrierOp, ReshardOp, ShardingConstraintOp
from sdy.dialects.stablehlo import elementwise as ops
from sdy.dialects.stablehlo import shape
from sdy.dialects.stablehlo.call_targets import is_identity_call
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.dialects.stablehlo.control import MapOp, OptimizationBarrierOp
from sdy.dialects.stablehlo.linalg import BatchNormGradOp, BatchNormInferenceOp, BatchNormTrainingOp, SortOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.evidence.sizes.index_values import literal
from sdy.evidence.sizes.ties import Ties
from sdy.rules.partitioner_rules import own_rule

TABLE = OpTable[None, [Ties]]()
# Ops whose result is a position along a dim if an operand is one, as far as other ops here do not say otherwise.
MEASURED_ALIKE = (
    ops.AbsOp,
    ops.AddOp,
    ops.CeilOp,
    ops.CompareOp,
    ops.ConvertOp,
    ops.FloorOp,
    ops.MaximumOp,
    ops.MinimumOp,
    ops.NegateOp,
    ops.RemainderOp,
    ops.RoundNearestAfzOp,
    ops.RoundNearestEvenOp,
    ops.SubtractOp,
)


def by_rule(op: Operation, ties: Ties) -> None:
    """Tie the dims that share a factor of the sharding rule. Elementwise ops are not in the table: all are tied so."""
    rule = own_rule(op)
    assert rule is not None
    ties.same_factors(op, rule)


TABLE.of(MapOp, DotOp, DotGeneralOp, BatchNormTrainingOp, BatchNormInferenceOp, BatchNormGradOp)(by_rule)


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


@TABLE.of(ops.ClampOp)
def _clamp(op: ops.ClampOp, ties: Ties) -> None:
    by_rule(op, ties)
    ties.values.same(op.min, op.operand, op.max, op.result)


@TABLE.of(ops.SelectOp)
def _select(op: ops.SelectOp, ties: Ties) -> None:
    by_rule(op, ties)
    ties.values.same(op.on_true, op.on_false, op.result)


@TABLE.of(OptimizationBarrierOp, DataFlowEdgeOp, PropagationBarrierOp, ReshardOp, ShardingConstraintOp)
def _identity(op: Operation, ties: Ties) -> None:
    ties.all_same(op.operands, op.results)


@TABLE.of(CustomCallOp)
def _custom_call(op: CustomCallOp, ties: Ties) -> None:
    if is_identity_call(op):
        ties.all_same(op.inputs, op.result)
    else:
        ties.lock_all(op)


@TABLE.of(ReduceOp)
def _reduce(op: ReduceOp, ties: Ties) -> None:
    by_rule(op, ties)
    for operand, initial, result in zip(op.inputs, op.init_values, op.result, strict=True):
        ties.values.same(operand, result, initial)


@TABLE.of(SortOp)
def _sort(op: SortOp, ties: Ties) -> None:
    by_rule(op, ties)
    for operand, result in zip(op.inputs, op.result, strict=True):
        ties.values.same(operand, result)


def _is_float(value: SSAValue) -> bool:
    return "f" in str(value.type).rsplit("x", maxsplit=1)[-1]
