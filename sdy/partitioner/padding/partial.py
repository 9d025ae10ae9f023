"""Find the collective that adds up the partial sums of an op."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from sdy.dialects.sdy.collectives import AllReduceOp, CollectiveOp, ReduceScatterOp
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.model.axis import AxisList
from sdy.model.axis_list import sort_and_merge
from sdy.model.mesh import Mesh
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import ReductionKind


def following_sum(op: Operation, result: SSAValue, rule: OpShardingRule | None) -> AllReduceOp | ReduceScatterOp | None:
    """Return the collective that adds up the partial values of a result of an op with this rule, or None.

    Maxima and minima are not included: they do not change if several devices contribute the full value.
    """
    return _first_sum(result) if rule is not None and _is_partial(op, rule) else None


def summed_axes(op: AllReduceOp | ReduceScatterOp, mesh: Mesh) -> AxisList:
    """Return the axes that a collective sums over."""
    if isinstance(op, AllReduceOp):
        return op.reduction_axes.data
    return sort_and_merge((axis for own in op.reduce_scatter_axes.data for axis in own), mesh)


def _first_sum(value: SSAValue) -> AllReduceOp | ReduceScatterOp | None:
    """Return the first sum that a value reaches through collectives, pads and slices only."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, AllReduceOp | ReduceScatterOp) and user.kind is ReductionKind.SUM:
            return user
        if isinstance(user, CollectiveOp | PadOp | SliceOp) and (found := _first_sum(user.results[0])) is not None:
            return found
    return None


def _is_partial(op: Operation, rule: OpShardingRule) -> bool:
    """Return whether a dim that the op reduces is sharded."""
    for operand, mapping in zip(op.operands, rule.operands, strict=True):
        sharding = sharding_of(operand)
        for dim, factors in zip(() if sharding is None else sharding.dims, mapping, strict=False):
            if dim.axes and set(factors).intersection(rule.reduction):
                return True
    return False
