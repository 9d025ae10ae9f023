"""Sums of which each shard computes a part: the collective behind adds them up."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from sdy.dialects.sdy.collectives import AllReduceOp, CollectiveOp, ReduceScatterOp
from sdy.dialects.shardings import sharding_of
from sdy.model.axis import AxisList
from sdy.model.axis_list import sort_and_merge
from sdy.model.mesh import Mesh
from sdy.model.sharding import ReductionKind
from sdy.rules.all import sharding_rule


def added_up_behind(op: Operation, result: SSAValue, mesh: Mesh) -> AxisList:
    """The axes along which parts of a result are added up.

    Maxima and minima are no matter: who has the whole one may take part in it as often as it likes.
    """
    return _added_up(result, mesh) if _has_parts(op) else ()


def _added_up(value: SSAValue, mesh: Mesh) -> AxisList:
    """By the first sum that a value gets to through collectives alone."""
    for use in value.uses:
        behind = use.operation
        axes: AxisList = ()
        if isinstance(behind, AllReduceOp) and behind.kind is ReductionKind.SUM:
            axes = behind.reduction_axes.data
        elif isinstance(behind, ReduceScatterOp) and behind.kind is ReductionKind.SUM:
            axes = sort_and_merge((axis for own in behind.reduce_scatter_axes.data for axis in own), mesh)
        elif isinstance(behind, CollectiveOp):
            axes = _added_up(behind.results[0], mesh)
        if axes:
            return axes
    return ()


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
