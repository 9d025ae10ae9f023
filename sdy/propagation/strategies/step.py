"""What a strategy is given: all of an op step but the shardings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sdy.model.mesh import Mesh
from sdy.model.rule import OpShardingRule
from sdy.propagation.graph import Direction
from sdy.propagation.projection import Projection


@dataclass(frozen=True, slots=True)
class OpStep:
    """One visit of an op. `directions` has one entry a factor; conservative steps give out no sub-axes."""

    rule: OpShardingRule
    directions: tuple[Direction, ...]
    mesh: Mesh
    is_elementwise: bool
    conservative: bool


# Expands factors of a projection; never shrinks one. A user's own strategy is such a function.
PropagationStrategy = Callable[[OpStep, Projection], Projection]
