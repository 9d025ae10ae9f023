"""The steps of a reshard plan, and their cost."""

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
    """Split dims, or merge them again. No element moves between devices."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A collective or reshape, and the global shape and the sharding of its result."""

    action: Collective | Reshape
    shape: Shape
    sharding: TensorSharding


Plan = tuple[PlanStep, ...]


def elements_received(steps: Iterable[PlanStep], mesh: Mesh) -> float:
    """Return the elements that the device that receives most receives in all steps, with ring algorithms.

    Dynamic dims count as 1. `mesh` is that of the shardings, in any device order. A permute counts in full, even if it
    changes only the device order.
    """
    return sum(_received(step, mesh) for step in steps)


def collective_count(steps: Iterable[PlanStep]) -> int:
    """Return the number of steps that communicate."""
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
