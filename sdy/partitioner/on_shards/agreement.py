"""Agreement of the tensors of an op: with equal axes for each factor, devices can run the op on their shards alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sdy.model.axis import AxisList
from sdy.model.axis_list import lists_overlap
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.rule import FactorIndex, FactorKind, OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.propagation.projection import Projection, project


@dataclass(frozen=True, slots=True)
class ShardedLayout:
    """A sharding with at least one sharded dim, and its mesh."""

    sharding: TensorSharding
    mesh: Mesh


OpLayouts = tuple[ShardedLayout | None, ...]  # of operands, then results; None if every device holds the full tensor


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two tensors, by their indices among operands, then results, that have different axes along a shared factor.

    If both indices are equal, the op mixes elements along a factor along which the tensor is sharded.
    """

    first: int
    second: int


def same_layout(first: ShardedLayout | None, second: ShardedLayout | None) -> bool:
    """Return whether every device holds the same elements of a tensor in both layouts."""
    if first is None or second is None or first == second:
        return first is second or first == second
    if first.mesh == second.mesh and _axes(first) == _axes(second):
        return True
    return _shard_coordinates(first) == _shard_coordinates(second)


def _axes(layout: ShardedLayout) -> tuple[object, ...]:
    return tuple(dim.axes for dim in layout.sharding.dims)


def _shard_coordinates(layout: ShardedLayout) -> list[tuple[int, ...]]:
    """Return for each dim the index of the shard that each device holds."""
    return [shard_coordinates(dim.axes, layout.mesh) for dim in layout.sharding.dims]


@lru_cache(maxsize=65536)
def disagreement(rule: OpShardingRule, layouts: OpLayouts) -> Disagreement | None:
    """Return the first pair of tensors that disagree in an op with this rule, None if all agree."""
    sharded = [(index, layout) for index, layout in enumerate(layouts) if layout is not None]
    if not sharded:
        return None
    first, reference = sharded[0]
    for index, layout in sharded:
        if layout.mesh != reference.mesh:
            return Disagreement(first, index)
    shardings = tuple(None if layout is None else layout.sharding for layout in layouts)
    projection = project(rule, shardings, reference.mesh, missing_is_closed=True)
    for index, tensor in enumerate(projection.tensors):
        if any(entry.overflow for entry in tensor.factors.values()):
            return Disagreement(index, index)
    for factor in map(FactorIndex, range(len(rule.factor_sizes))):
        found = _disagreement_along(projection, factor, rule.kind(factor))
        if found is not None:
            return found
    return _overlapping_axes(projection)


def _disagreement_along(projection: Projection, factor: FactorIndex, kind: FactorKind) -> Disagreement | None:
    present = [
        (index, axes) for index, tensor in enumerate(projection.tensors) if (axes := tensor.axes(factor)) is not None
    ]
    for index, axes in present:
        if axes != present[0][1]:
            return Disagreement(present[0][0], index)
        if axes and kind in (FactorKind.NEED_REPLICATION, FactorKind.PERMUTATION):
            return Disagreement(index, index)
    return None


def _overlapping_axes(projection: Projection) -> Disagreement | None:
    """Return two tensors sharded along one axis on different factors, so that a device holds unrelated shards."""
    used: dict[FactorIndex, tuple[int, AxisList]] = {}
    for index, tensor in enumerate(projection.tensors):
        for factor, entry in tensor.factors.items():
            if not entry.axes:
                continue
            for other, (other_index, axes) in used.items():
                if other != factor and lists_overlap(entry.axes, axes):
                    return Disagreement(other_index, index)
            used.setdefault(factor, (index, entry.axes))
    return None
