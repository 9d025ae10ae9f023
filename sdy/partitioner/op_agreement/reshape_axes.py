"""Choice of the axes of a reshape whose operand or result has axes that do not fit its factors.

The axes of the side with more shards are redistributed over the factors of both sides; the common prefix is kept.
Source: docs/spec/05, 1.16.

    tensor<48> [{"q"}] -> tensor<6x8>      "q"=4, factors i=6, j=8
    shares      i "q":(1)2, j "q":(2)2     (6 and 4 share 2)
    common      i "q":(1)2                 (j would be strided in tensor<48>)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import gcd

from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import add_or_merge, common_prefix, extended
from sdy.model.axis_on_mesh import split_at
from sdy.model.mesh import Mesh
from sdy.model.rule import FactorIndex, OpShardingRule, TensorMapping
from sdy.partitioner.op_agreement.common_axes import FactorAxes, sharding_size
from sdy.propagation.projection import FactorSharding, Projection, TensorProjection, project_tensor, to_sharding


def has_overflow(projection: Projection) -> bool:
    """Return whether some tensor has overflow axes."""
    return any(entry.overflow for tensor in projection.tensors for entry in tensor.factors.values())


def reshape_axes(rule: OpShardingRule, projection: Projection, mesh: Mesh) -> FactorAxes:
    """Return the axes of each factor of a reshape."""
    operand, result = projection.operands[0], projection.results[0]
    preferred = operand if sharding_size(operand, mesh) >= sharding_size(result, mesh) else result
    axes = [
        axis
        for number in range(len(rule.factor_sizes))
        if (entry := preferred.factors.get(FactorIndex(number))) is not None
        for axis in (*entry.axes, *entry.overflow)
    ]
    sides = [_redistributed(axes, rule.factor_sizes, mapping, mesh) for mapping in rule.tensors]
    common: FactorAxes = []
    for number in range(len(rule.factor_sizes)):
        lists = [side_axes for side in sides if (side_axes := side.axes(FactorIndex(number))) is not None]
        common.append(reduce(common_prefix, lists) if lists else ())
    return common


def _redistributed(
    axes: Sequence[AxisRef], factor_sizes: tuple[int, ...], mapping: TensorMapping, mesh: Mesh
) -> TensorProjection:
    """Return the projection of one side with `axes` distributed over its factors, as far as its dims can express."""
    order = [factor for dim in mapping for factor in dim]
    if not order:
        return TensorProjection({})
    shares, overflow = distributed(axes, [factor_sizes[factor] for factor in order], mesh)
    factors = {factor: FactorSharding(share, is_closed=True) for factor, share in zip(order, shares, strict=True)}
    factors[order[-1]] = FactorSharding(shares[-1], is_closed=True, overflow=overflow)
    sharding = to_sharding(TensorProjection(factors), mapping, factor_sizes, None, mesh, mesh)
    return project_tensor(sharding, mapping, factor_sizes, mesh)


def distributed(axes: Sequence[AxisRef], sizes: Sequence[int], mesh: Mesh) -> tuple[list[AxisList], AxisList]:
    """Return the share of each factor, given their sizes in order, and the axes that fit no factor."""
    capacity = list(sizes)
    shares: list[AxisList] = [()] * len(capacity)
    remaining = list(axes)
    while remaining:
        rest: AxisRef | None = remaining[0]
        before = list(capacity)
        for index in range(len(capacity)):
            if rest is None:
                break
            rest = _assign(rest, index, capacity, shares, mesh)
        if rest is None:
            remaining.pop(0)
        elif capacity == before:
            return shares, extended((), (rest, *remaining[1:]), mesh)
        else:
            remaining[0] = rest
    return shares, ()


def _assign(axis: AxisRef, index: int, capacity: list[int], shares: list[AxisList], mesh: Mesh) -> AxisRef | None:
    """Add the largest fitting sub-axis of `axis` to the factor at `index`; return the rest, None if there is none."""
    size = mesh.size_of(axis)
    common = gcd(capacity[index], size)
    if capacity[index] <= 1 or (common == 1 and size != 1):
        return axis
    sub_axis, rest = (axis, None) if common == size else split_at(axis, common, mesh)
    shares[index] = add_or_merge(shares[index], sub_axis, mesh)
    capacity[index] //= common
    return rest
