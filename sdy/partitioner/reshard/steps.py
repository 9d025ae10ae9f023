"""What a plan consists of, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import assert_never

from sdy.cost.collectives import CollectiveKind, bytes_sent
from sdy.model.axis_list import sharded_size
from sdy.model.collective import AllGather, AllSlice, AllToAll, Collective, CollectivePermute
from sdy.model.mesh import Mesh
from sdy.model.shape import Shape, local_shape
from sdy.model.sharding import TensorSharding


@dataclass(frozen=True, slots=True)
class Reshape:
    """Split dims, or join them again. On one device no element moves."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """What to do, and the shape of the whole tensor and its sharding after that."""

    action: Collective | Reshape
    shape: Shape
    sharding: TensorSharding


Plan = tuple[PlanStep, ...]


def elements_received(steps: Iterable[PlanStep], mesh: Mesh) -> float:
    """What the device that receives most receives in all steps, with ring algorithms; dims of unknown size count 1.

    `mesh` is that of the shardings, in any order of devices. A permute counts in full, also where it changes nothing
    but the order of devices.
    """
    return sum(_received(step, mesh) for step in steps)


def collective_count(steps: Iterable[PlanStep]) -> int:
    """How many of the steps communicate."""
    return sum(not isinstance(step.action, Reshape | AllSlice) for step in steps)


def _received(step: PlanStep, mesh: Mesh) -> float:
    match step.action:
        case AllGather(axes=axes):
            kind, count = CollectiveKind.ALL_GATHER, prod(sharded_size(own, mesh) for own in axes)
        case AllToAll(params=params):
            kind, count = CollectiveKind.ALL_TO_ALL, prod(sharded_size(param.axes, mesh) for param in params)
        case CollectivePermute():
            kind, count = CollectiveKind.COLLECTIVE_PERMUTE, 1
        case AllSlice() | Reshape():
            return 0.0
        case _:
            assert_never(step.action)
    local = local_shape(step.shape, step.sharding, mesh)
    assert local is not None  # padding is allowed
    return bytes_sent(kind, count, prod(size or 1 for size in local))
