"""The axes of a reshape whose operand or result has axes that do not fit its factors.

The axes of the more sharded side are dealt out anew over the factors of both sides; what both can have is common.
Source: docs/spec/05, 1.16.

    tensor<48> [{"q"}] -> tensor<6x8>      "q"=4, factors i=6, j=8
    dealt out   i "q":(1)2, j "q":(2)2     (6 and 4 share 2)
    common      i "q":(1)2                 (j would be strided in tensor<48>)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import add_or_merge, common_prefix, extended
from sdy.model.axis_on_mesh import split_at
from sdy.model.mesh import Mesh
from sdy.model.rule import FactorIndex, OpShardingRule, TensorMapping
from sdy.partitioner.op_agreement.common_axes import FactorAxes, sharding_size
from sdy.propagation.projection import FactorSharding, Projection, TensorProjection, project_tensor, to_sharding


def has_overflow(projection: Projection) -> bool:
    """Whether some tensor has axes that its factors could not take."""
    return any(entry.overflow for tensor in projection.tensors for entry in tensor.factors.values())


def reshape_axes(rule: OpShardingRule, projection: Projection, mesh: Mesh) -> FactorAxes:
    """The axes to shard each factor of a reshape by."""
    operand, result = projection.operands[0], projection.results[0]
    preferred = operand if sharding_size(operand, mesh) >= sharding_size(result, mesh) else result
    axes = [
        axis
        for number in range(len(rule.factor_sizes))
        if (entry := preferred.factors.get(FactorIndex(number))) is not None
        for axis in (*entry.axes, *entry.overflow)
    ]
    sides = [_dealt_out(axes, rule.factor_sizes, mapping, mesh) for mapping in rule.tensors]
    common: FactorAxes = []
    for number in range(len(rule.factor_sizes)):
        lists = [own for side in sides if (own := side.axes(FactorIndex(number))) is not None]
        common.append(_common_prefix_of_all(lists))
    return common


def _dealt_out(
    axes: Sequence[AxisRef], factor_sizes: tuple[int, ...], mapping: TensorMapping, mesh: Mesh
) -> TensorProjection:
    """One side with the axes dealt out over its factors, as far as its dims can express it."""
    order = [factor for dim in mapping for factor in dim]
    if not order:
        return TensorProjection({})
    shares, overflow = distributed(axes, [factor_sizes[factor] for factor in order], mesh)
    factors = {factor: FactorSharding(share, is_closed=True) for factor, share in zip(order, shares, strict=True)}
    factors[order[-1]] = FactorSharding(shares[-1], is_closed=True, overflow=overflow)
    sharding = to_sharding(TensorProjection(factors), mapping, factor_sizes, None, mesh, mesh)
    return project_tensor(sharding, mapping, factor_sizes, mesh)


def distributed(axes: Sequence[AxisRef], sizes: Sequence[int], mesh: Mesh) -> tuple[list[AxisList], AxisList]:
    """The share of each factor, given their sizes in order, and what no factor could take."""
    room = list(sizes)
    shares: list[AxisList] = [()] * len(room)
    left = list(axes)
    while left:
        rest: AxisRef | None = left[0]
        before = list(room)
        for place in range(len(room)):
            if rest is None:
                break
            rest = _give(rest, place, room, shares, mesh)
        if rest is None:
            left.pop(0)
        elif room == before:
            return shares, extended((), (rest, *left[1:]), mesh)
        else:
            left[0] = rest
    return shares, ()


def _give(axis: AxisRef, place: int, room: list[int], shares: list[AxisList], mesh: Mesh) -> AxisRef | None:
    """Give the factor at `place` what fits of `axis`; what is left of it."""
    size = mesh.size_of(axis)
    common = gcd(room[place], size)
    if room[place] <= 1 or (common == 1 and size != 1):
        return axis
    part, rest = (axis, None) if common == size else split_at(axis, common, mesh)
    shares[place] = add_or_merge(shares[place], part, mesh)
    room[place] //= common
    return rest


def _common_prefix_of_all(lists: Sequence[AxisList]) -> AxisList:
    common = lists[0] if lists else ()
    for axes in lists[1:]:
        common = common_prefix(common, axes)
    return common
