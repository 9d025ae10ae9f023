"""Dots whose result should be resharded instead of an operand, because it has the axes of the contracting dim.

Source: docs/spec/05, 1.17. Used only by the light version of explicit reshards.
"""

from __future__ import annotations

from sdy.model.axis import AxisList
from sdy.model.axis_list import lists_overlap
from sdy.model.rule import FactorIndex, OpShardingRule
from sdy.propagation.projection import Projection


def cheaper_result_axes(
    rule: OpShardingRule, projection: Projection, elements: tuple[int, ...]
) -> tuple[FactorIndex, AxisList] | None:
    """Return the factor of the result to reshard and the axes of the operands for it, None to leave the dot unchanged.

    `elements` are the element counts of lhs, rhs and result.
    """
    lhs, rhs = projection.operands
    reduction: AxisList = ()
    seen: list[AxisList] = []
    found: tuple[FactorIndex, AxisList] | None = None
    for number in range(len(rule.factor_sizes)):
        factor = FactorIndex(number)
        left, right = lhs.axes(factor), rhs.axes(factor)
        if left is not None and right is not None and left != right:
            return None
        axes = (left if left is not None else right) or ()
        if factor in rule.reduction:
            reduction += axes
            continue
        if (left is None or right is None) and any(lists_overlap(axes, other) for other in seen):
            return None
        seen.append(axes)
        if axes == projection.results[0].axes(factor):
            continue
        limit = max(count for count, own in zip(elements, (left, right), strict=False) if own is not None)
        if not axes or found is not None or elements[2] > limit:
            return None
        found = factor, axes
    if found is None:
        return None
    result_axes = projection.results[0].axes(found[0])
    return found if result_axes and result_axes == reduction else None
