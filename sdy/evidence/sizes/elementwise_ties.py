"""Ties of elementwise ops, contractions, reductions and ops that keep shapes."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from sdy.dialects.chlo import elementwise as chlo
from sdy.dialects.ir.op_table import OpTable
from sdy.dialects.sdy.ops import DataFlowEdgeOp, PropagationBarrierOp, ReshardOp, ShardingConstraintOp
from sdy.dialects.stablehlo import elementwise as ops
from sdy.dialects.stablehlo.attributes.types import rank_of
from sdy.dialects.stablehlo.call_targets import is_identity_call
from sdy.dialects.stablehlo.calls import CustomCallOp
from sdy.dialects.stablehlo.contraction import DotGeneralOp, DotOp
from sdy.dialects.stablehlo.control import MapOp, OptimizationBarrierOp
from sdy.dialects.stablehlo.linalg import BatchNormGradOp, BatchNormInferenceOp, BatchNormTrainingOp, SortOp
from sdy.dialects.stablehlo.reduction import ReduceOp
from sdy.dialects.stablehlo.syntax.clauses import ints_of
from sdy.evidence.sizes.index_values import literal
from sdy.evidence.sizes.ties import Ties

TABLE = OpTable[None, [Ties]]()
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
SPECIAL = (*MEASURED_ALIKE, ops.ClampOp, ops.SelectOp, ops.MultiplyOp, ops.DivideOp)


@TABLE.of(*(each for each in (*ops.OPS, *chlo.OPS) if each not in SPECIAL), MapOp)
def _pointwise(op: Operation, ties: Ties) -> None:
    ties.same_dims(*op.operands, *op.results)


@TABLE.of(*MEASURED_ALIKE)
def _measured_alike(op: Operation, ties: Ties) -> None:
    ties.same(*op.operands, *op.results)


@TABLE.of(ops.MultiplyOp)
def _multiply(op: ops.MultiplyOp, ties: Ties) -> None:
    """A constant times the index of a shard or of a trip is a position."""
    _pointwise(op, ties)
    for constant in (op.lhs, op.rhs):
        if literal(constant) is not None and not _is_float(constant):
            ties.values.same(constant, op.result)


@TABLE.of(ops.DivideOp)
def _divide(op: ops.DivideOp, ties: Ties) -> None:
    _pointwise(op, ties)
    if not _is_float(op.result):
        ties.values.same(op.lhs, op.rhs)


@TABLE.of(ops.ClampOp)
def _clamp(op: ops.ClampOp, ties: Ties) -> None:
    ties.same_dims(op.operand, op.result)
    for bound in (op.min, op.max):
        if rank_of(bound):
            ties.same_dims(bound, op.result)
    ties.values.same(op.min, op.operand, op.max, op.result)


@TABLE.of(ops.SelectOp)
def _select(op: ops.SelectOp, ties: Ties) -> None:
    ties.same(op.on_true, op.on_false, op.result)
    if rank_of(op.pred):
        ties.same_dims(op.pred, op.result)


@TABLE.of(OptimizationBarrierOp, DataFlowEdgeOp, PropagationBarrierOp, ReshardOp, ShardingConstraintOp)
def _identity(op: Operation, ties: Ties) -> None:
    ties.all_same(op.operands, op.results)


@TABLE.of(CustomCallOp)
def _custom_call(op: CustomCallOp, ties: Ties) -> None:
    if is_identity_call(op):
        ties.all_same(op.inputs, op.result)
    else:
        ties.lock_all(op)


@TABLE.of(DotGeneralOp)
def _dot_general(op: DotGeneralOp, ties: Ties) -> None:
    numbers = op.dot_dimension_numbers.data
    lhs, rhs, result = ties.of(op.lhs), ties.of(op.rhs), list(ties.of(op.result))
    for one, other in zip(numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions, strict=True):
        ties.tie(lhs[one], rhs[other])
    batch = list(zip(numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions, strict=True))
    for one, other in batch:
        ties.tie(lhs[one], rhs[other])
    left = (*numbers.lhs_batching_dimensions, *numbers.lhs_contracting_dimensions)
    right = (*numbers.rhs_batching_dimensions, *numbers.rhs_contracting_dimensions)
    expected = [
        *(lhs[one] for one, _ in batch),
        *(each for dim, each in enumerate(lhs) if dim not in left),
        *(each for dim, each in enumerate(rhs) if dim not in right),
    ]
    for one, other in zip(expected, result, strict=True):
        ties.tie(one, other)


@TABLE.of(DotOp)
def _dot(op: DotOp, ties: Ties) -> None:
    lhs, rhs = ties.of(op.lhs), ties.of(op.rhs)
    ties.tie(lhs[-1], rhs[0])
    for one, other in zip((*lhs[:-1], *rhs[1:]), ties.of(op.result), strict=True):
        ties.tie(one, other)


@TABLE.of(ReduceOp)
def _reduce(op: ReduceOp, ties: Ties) -> None:
    dims = ints_of(op.dimensions)
    for operand, initial, result in zip(op.inputs, op.init_values, op.result, strict=True):
        kept = [each for dim, each in enumerate(ties.of(operand)) if dim not in dims]
        for one, other in zip(kept, ties.of(result), strict=True):
            ties.tie(one, other)
        ties.values.same(operand, result, initial)
    ties.same_dims(*op.inputs)


@TABLE.of(SortOp)
def _sort(op: SortOp, ties: Ties) -> None:
    ties.same_dims(*op.operands, *op.results)
    for operand, result in zip(op.inputs, op.result, strict=True):
        ties.values.same(operand, result)


@TABLE.of(BatchNormTrainingOp, BatchNormInferenceOp, BatchNormGradOp)
def _batch_norm(op: BatchNormTrainingOp | BatchNormInferenceOp | BatchNormGradOp, ties: Ties) -> None:
    first, feature = ties.of(op.operand), op.feature_index.value.data
    for value in (*op.operands, *op.results):
        dims = ties.of(value)
        for one, other in zip(first if len(dims) > 1 else (first[feature],), dims, strict=True):
            ties.tie(one, other)


def _is_float(value: SSAValue) -> bool:
    return "f" in str(value.type).rsplit("x", maxsplit=1)[-1]
