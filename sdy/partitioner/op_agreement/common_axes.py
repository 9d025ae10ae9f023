"""Choice of the axes that an op runs on if its tensors disagree: one axis list per factor.

The first applicable case decides: the tensors agree; exactly two tensors have dims, and the preferred one keeps its
axes; otherwise every prefix of every tensor's axes is a candidate, weighted by the elements that need not move.
Source: docs/spec/05, 1.13.
"""

from __future__ import annotations

from math import prod

from sdy.model.axis import AxisList
from sdy.model.axis_list import add_or_merge, lists_overlap, sharded_size, truncate_overlaps
from sdy.model.mesh import Mesh
from sdy.model.rule import (
    FactorIndex,
    OpShardingRule,
    has_multi_factor_dims,
    is_batching,
    is_in_all_non_scalars,
    non_scalar_tensors,
)
from sdy.partitioner.op_agreement.factor_vote import vote
from sdy.propagation.projection import Projection, TensorProjection

FactorAxes = list[AxisList]  # one list per factor


def common_axes(rule: OpShardingRule, projection: Projection, elements: tuple[int, ...], mesh: Mesh) -> FactorAxes:
    """Return the axes of each factor. `elements` are the element counts of the operands, then of the results."""
    agreed = agreed_axes(rule, projection)
    if agreed is not None:
        return agreed
    ranked = non_scalar_tensors(rule)
    if len(ranked) == 2 and not rule.need_replication and not has_multi_factor_dims(rule):
        return _axes_of_preferred(rule, projection, elements, mesh, (ranked[0], ranked[1]))
    axes = vote(rule, projection, elements, mesh)
    _move_to_batching_factors(rule, axes, mesh)
    return axes


def agreed_axes(rule: OpShardingRule, projection: Projection) -> FactorAxes | None:
    """Return the axes of each factor, None if tensors disagree, an axis repeats or a replicated factor has axes."""
    agreed: FactorAxes = []
    for factor in _factors(rule):
        lists = {entry.axes for tensor in projection.tensors if (entry := tensor.factors.get(factor)) is not None}
        axes = lists.pop() if lists else ()
        if lists or (axes and factor in rule.need_replication) or any(lists_overlap(axes, other) for other in agreed):
            return None
        agreed.append(axes)
    return agreed or None


def _axes_of_preferred(
    rule: OpShardingRule, projection: Projection, elements: tuple[int, ...], mesh: Mesh, indices: tuple[int, int]
) -> FactorAxes:
    """Return the axes of the preferred tensor, and for factors of the other tensor alone its axes without overlap."""

    def preference(index: int) -> tuple[bool, int, int]:
        tensor = projection.tensors[index]
        moves = any(tensor.axes(factor) for factor in rule.permutation)
        return not moves, elements[index], sharding_size(tensor, mesh)

    first, second = indices
    if preference(second) > preference(first):
        first, second = second, first
    kept, other = projection.tensors[first], projection.tensors[second]
    taken = tuple(axis for entry in kept.factors.values() for axis in entry.axes)
    return [
        own if (own := kept.axes(factor)) is not None else truncate_overlaps(other.axes(factor) or (), taken)
        for factor in _factors(rule)
    ]


def _move_to_batching_factors(rule: OpShardingRule, axes: FactorAxes, mesh: Mesh) -> None:
    """Remove the axes of factors that need replication, and move them to batching factors as far as they fit."""
    batching = [factor for factor in _factors(rule) if is_batching(rule, factor)]
    for factor in rule.need_replication:
        left, axes[factor] = axes[factor], ()
        if not is_in_all_non_scalars(rule, factor):
            continue
        for receiver in batching:
            size, used = rule.factor_sizes[receiver], sharded_size(axes[receiver], mesh)
            if size == 0 or size % used:
                continue
            capacity = size // used
            while left and capacity % mesh.size_of(left[0]) == 0:
                capacity //= mesh.size_of(left[0])
                axes[receiver] = add_or_merge(axes[receiver], left[0], mesh)
                left = left[1:]


def sharding_size(tensor: TensorProjection, mesh: Mesh) -> int:
    """Return the number of shards of the tensor, overflow axes included."""
    return prod(sharded_size((*entry.axes, *entry.overflow), mesh) for entry in tensor.factors.values())


def _factors(rule: OpShardingRule) -> list[FactorIndex]:
    return [FactorIndex(factor) for factor in range(len(rule.factor_sizes))]
