"""Sums of which each shard computes a part: the collective behind adds them up."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from sdy.dialects.sdy.collectives import AllReduceOp, CollectiveOp, ReduceScatterOp
from sdy.dialects.shardings import sharding_of
from sdy.dialects.stablehlo.slicing import PadOp, SliceOp
from sdy.model.axis import AxisList
from sdy.model.axis_list import sort_and_merge
from sdy.model.mesh import Mesh
from sdy.model.sharding import ReductionKind
from sdy.rules.all import sharding_rule


def sum_behind(op: Operation, result: SSAValue) -> AllReduceOp | ReduceScatterOp | None:
    """The collective that adds up the parts of a result.

    Maxima and minima are no matter: who has the whole one may take part in it as often as it likes.
    """
    return _first_sum(result) if _has_parts(op) else None


def summed_axes(op: AllReduceOp | ReduceScatterOp, mesh: Mesh) -> AxisList:
    """The axes along which a collective adds up."""
    if isinstance(op, AllReduceOp):
        return op.reduction_axes.data
    return sort_and_merge((axis for own in op.reduce_scatter_axes.data for axis in own), mesh)


def _first_sum(value: SSAValue) -> AllReduceOp | ReduceScatterOp | None:
    """The first sum that a value gets to through collectives alone, and through what pads and trims it for them."""
    for use in value.uses:
        behind = use.operation
        if isinstance(behind, AllReduceOp | ReduceScatterOp) and behind.kind is ReductionKind.SUM:
            return behind
        if isinstance(behind, CollectiveOp | PadOp | SliceOp) and (found := _first_sum(behind.results[0])) is not None:
            return found
    return None


def _has_parts(op: Operation) -> bool:
    """Whether a dim that the op reduces is cut."""
    rule = sharding_rule(op)
    if rule is None:
        return False
    for operand, mapping in zip(op.operands, rule.operands, strict=True):
        sharding = sharding_of(operand)
        for dim, factors in zip(() if sharding is None else sharding.dims, mapping, strict=False):
            if dim.axes and set(factors).intersection(rule.reduction):
                return True
    return False
