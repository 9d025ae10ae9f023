"""The interface of propagation strategies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sdy.model.mesh import Mesh
from sdy.model.rule import OpShardingRule
from sdy.propagation.graph import Direction
from sdy.propagation.projection import Projection


@dataclass(frozen=True, slots=True)
class OpStep:
    """The input of a strategy apart from the projection.

    `directions` has one entry per factor; a conservative step propagates no sub-axes.
    """

    rule: OpShardingRule
    directions: tuple[Direction, ...]
    mesh: Mesh
    is_elementwise: bool
    conservative: bool


# Extends factor shardings of a projection and never shortens one. Users can write their own.
PropagationStrategy = Callable[[OpStep, Projection], Projection]
