"""The kinds of collectives, and those that change a sharding, with their parameters. Source: docs/spec/01, 1.4.11."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from sdy.model.axis import AxisList


@dataclass(frozen=True, slots=True)
class AllGather:
    """Gather along `axes`, which are at the minor end of each dim."""

    axes: AxesPerDim


@dataclass(frozen=True, slots=True)
class AllSlice:
    """Shard each dim further along `axes`. Needs no communication: each device keeps a slice of its shard."""

    axes: AxesPerDim


@dataclass(frozen=True, slots=True)
class AllToAll:
    """Move axes from one dim to another, possibly several at once."""

    params: tuple[AllToAllParam, ...]


@dataclass(frozen=True, slots=True)
class CollectivePermute:
    """Send each shard to another device.

    The number of shards of each dim stays the same; the device order of the mesh may change.
    """


class CollectiveKind(Enum):
    """The kind of a communication between devices. The enum value is its name in reports."""

    ALL_GATHER = "all-gather"
    ALL_REDUCE = "all-reduce"
    ALL_TO_ALL = "all-to-all"
    COLLECTIVE_BROADCAST = "collective-broadcast"
    COLLECTIVE_PERMUTE = "collective-permute"
    COLLECTIVE_REDUCE = "collective-reduce"
    REDUCE_SCATTER = "reduce-scatter"


Collective = AllGather | AllSlice | AllToAll | CollectivePermute


AxesPerDim = tuple[AxisList, ...]  # one list per dim, major first


class AllToAllParam(NamedTuple):
    """Move `axes` from the minor end of dim `source` to the minor end of dim `target`.

    Source: docs/spec/01, 1.4.11.
    """

    axes: AxisList
    source: int
    target: int
