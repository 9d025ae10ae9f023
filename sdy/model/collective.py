"""What a collective is given besides the tensor. Source: docs/spec/01, 1.4.11."""

from __future__ import annotations

from dataclasses import dataclass

from sdy.model.axis import AxisList

AxesPerDim = tuple[AxisList, ...]  # one list a dim, major first


@dataclass(frozen=True, slots=True)
class AllToAllParam:
    """Take `axes` off the minor end of dim `source`, and cut dim `target` by them."""

    axes: AxisList
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class AllGather:
    """Undo the cuts by `axes`, off the minor end of each dim."""

    axes: AxesPerDim


@dataclass(frozen=True, slots=True)
class AllSlice:
    """Cut each dim further by `axes`. No communication: each device drops what it need not keep."""

    axes: AxesPerDim


@dataclass(frozen=True, slots=True)
class AllToAll:
    """Move cuts from one dim to another."""

    params: tuple[AllToAllParam, ...]


@dataclass(frozen=True, slots=True)
class CollectivePermute:
    """Each device hands its shard to another one. Dims keep their number of pieces; the mesh may change its order."""


Collective = AllGather | AllSlice | AllToAll | CollectivePermute
