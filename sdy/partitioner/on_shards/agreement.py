"""Do the tensors of an op agree, factor by factor, so that each device can run the op on its shards alone?"""

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
    """A sharding that cuts some dim, and its mesh."""

    sharding: TensorSharding
    mesh: Mesh


OpLayouts = tuple[ShardedLayout | None, ...]  # an op's operands, then results; None: whole on every device


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two tensors, by their places among operands, then results, that are cut differently along what they share.

    One place twice: the op mixes the elements along a factor by which the tensor is cut.
    """

    first: int
    second: int


def same_layout(first: ShardedLayout | None, second: ShardedLayout | None) -> bool:
    """Whether every device holds the same elements of a tensor either way."""
    if first is None or second is None or first == second:
        return first is second or first == second
    if first.mesh == second.mesh and _axes(first) == _axes(second):
        return True
    return _places(first) == _places(second)


def _axes(layout: ShardedLayout) -> tuple[object, ...]:
    return tuple(dim.axes for dim in layout.sharding.dims)


def _places(layout: ShardedLayout) -> list[tuple[int, ...]]:
    """Per dim, which piece each device holds."""
    return [shard_coordinates(dim.axes, layout.mesh) for dim in layout.sharding.dims]


@lru_cache(maxsize=65536)
def disagreement(rule: OpShardingRule, layouts: OpLayouts) -> Disagreement | None:
    """The first pair of tensors of an op with this rule that stands in the way; None where all agree."""
    cut = [(place, layout) for place, layout in enumerate(layouts) if layout is not None]
    if not cut:
        return None
    first, reference = cut[0]
    for place, layout in cut:
        if layout.mesh != reference.mesh:
            return Disagreement(first, place)
    shardings = tuple(None if layout is None else layout.sharding for layout in layouts)
    projection = project(rule, shardings, reference.mesh, missing_is_closed=True)
    for place, tensor in enumerate(projection.tensors):
        if any(entry.overflow for entry in tensor.factors.values()):
            return Disagreement(place, place)
    for number in range(len(rule.factor_sizes)):
        found = _along(projection, FactorIndex(number), rule.kind(FactorIndex(number)))
        if found is not None:
            return found
    return _overlap(projection)


def _along(projection: Projection, factor: FactorIndex, kind: FactorKind) -> Disagreement | None:
    present = [
        (place, axes) for place, tensor in enumerate(projection.tensors) if (axes := tensor.axes(factor)) is not None
    ]
    for place, axes in present:
        if axes != present[0][1]:
            return Disagreement(present[0][0], place)
        if axes and kind in (FactorKind.NEED_REPLICATION, FactorKind.PERMUTATION):
            return Disagreement(place, place)
    return None


def _overlap(projection: Projection) -> Disagreement | None:
    """Two tensors that are cut by one axis along different factors: a device has parts that do not belong together."""
    used: dict[FactorIndex, tuple[int, AxisList]] = {}
    for place, tensor in enumerate(projection.tensors):
        for factor, entry in tensor.factors.items():
            if not entry.axes:
                continue
            for other, (other_place, axes) in used.items():
                if other != factor and lists_overlap(entry.axes, axes):
                    return Disagreement(other_place, place)
            used.setdefault(factor, (place, entry.axes))
    return None
