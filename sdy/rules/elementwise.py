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
    """`([i, j], [i, j]) -> ([i, j])`, with the sizes of the first result; none if that is a token."""
    if not is_shaped(op.results[0]):
        return None
    builder = RuleBuilder(*operand_and_result_ranks(op))
    for dim, size in enumerate(shape_or_empty(op.results[0])):
        dims = tuple(tuple(dim if dim < rank else None for rank in ranks) for ranks in operand_and_result_ranks(op))
        builder.factor(size, operands=dims[0], results=dims[1])
    return builder.build()


RULES.of(
    ops.AbsOp,
    ops.AddOp,
    ops.AndOp,
    ops.Atan2Op,
    ops.CbrtOp,
    ops.CeilOp,
    ops.CompareOp,
    ops.ComplexOp,
    ops.ConvertOp,
    ops.CosineOp,
    ops.CountLeadingZerosOp,
    ops.DivideOp,
    ops.ExponentialMinusOneOp,
    ops.ExponentialOp,
    ops.FloorOp,
    ops.ImagOp,
    ops.IsFiniteOp,
    ops.LogOp,
    ops.LogPlusOneOp,
    ops.LogisticOp,
    ops.MaximumOp,
    ops.MinimumOp,
    ops.MultiplyOp,
    ops.NegateOp,
    ops.NotOp,
    ops.OrOp,
    ops.PopcntOp,
    ops.PowerOp,
    ops.RealOp,
    ops.ReducePrecisionOp,
    ops.RemainderOp,
    ops.RoundNearestAfzOp,
    ops.RoundNearestEvenOp,
    ops.RsqrtOp,
    ops.ShiftLeftOp,
    ops.ShiftRightArithmeticOp,
    ops.ShiftRightLogicalOp,
    ops.SignOp,
    ops.SineOp,
    ops.SqrtOp,
    ops.SubtractOp,
    ops.TanOp,
    ops.TanhOp,
    ops.XorOp,
    ShardingConstraintOp,
)(pointwise)


@RULES.of(ops.ClampOp, ops.SelectOp)
def with_scalars(op: ops.ClampOp | ops.SelectOp) -> OpShardingRule:
    """`([], [i, j], [i, j]) -> ([i, j])`: scalar bounds, or a scalar predicate, have no factors."""
    return RuleBuilder(*operand_and_result_ranks(op)).pointwise(shape_or_empty(op.results[0])).build()
