"""One visit of an op, as a pure and memoised function of numbers.

Equal layers of a network meet equal rules with equal shardings, so that most visits are one lookup.
Source: docs/spec/02, 1.7, 2.5 and 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sdy.model.mesh import Mesh
from sdy.model.mesh_table import common_mesh
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.propagation.graph import MISSING, Direction
from sdy.propagation.numbering import Numbering
from sdy.propagation.projection import Projection, project, to_sharding
from sdy.propagation.strategies.step import OpStep, PropagationStrategy


@dataclass(frozen=True, slots=True)
class Change:
    """What a strategy was given and what it made of it, for whoever records why."""

    step: OpStep
    before: Projection
    after: Projection


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step changes: (place among the tensors, number of the new sharding), in tensor order."""

    updates: tuple[tuple[int, int], ...] = ()
    change: Change | None = None  # where there are updates


UNCHANGED = StepResult()
Directions = tuple[Direction, ...]  # one a factor
StepKey = tuple[int, tuple[int, ...], int, bool, bool]


class StepFunction:
    """The op step of one strategy, over numbered rules, shardings and directions."""

    def __init__(
        self,
        strategy: PropagationStrategy,
        meshes: Mapping[str, Mesh],
        rules: Numbering[OpShardingRule],
        shardings: Numbering[TensorSharding],
        directions: Numbering[Directions],
    ) -> None:
        self._strategy = strategy
        self._meshes = meshes
        self._rules = rules
        self._shardings = shardings
        self._directions = directions
        self._known: dict[StepKey, StepResult] = {}

    def __call__(
        self,
        rule: int,
        shardings: tuple[int, ...],
        directions: int,
        is_elementwise: bool,
        conservative: bool,
    ) -> StepResult:
        """What a visit does to tensors with these shardings, operands then results."""
        key = (rule, shardings, directions, is_elementwise, conservative)
        result = self._known.get(key)
        if result is None:
            result = self._known[key] = self._compute(key)
        return result

    def _compute(self, key: StepKey) -> StepResult:
        rule_number, numbers, direction_number, is_elementwise, conservative = key
        old = tuple(None if number == MISSING else self._shardings.value(number) for number in numbers)
        if all(sharding is None or sharding.is_fully_replicated for sharding in old):
            return UNCHANGED  # no tensor offers an axis
        common = common_mesh(old, self._meshes)
        if common is None or common.mesh.is_maximal:
            return UNCHANGED
        mesh = common.mesh
        rule, directions = self._rules.value(rule_number), self._directions.value(direction_number)
        before = project(rule, old, mesh)
        step = OpStep(rule, directions, mesh, is_elementwise, conservative)
        after = self._strategy(step, before)
        updates: list[tuple[int, int]] = []
        for place, (was, now) in enumerate(zip(before.tensors, after.tensors, strict=True)):
            if now is was:
                continue
            new = to_sharding(now, rule.tensors[place], rule.factor_sizes, old[place], common.reference, mesh)
            if new != old[place] and not (old[place] is None and new.has_no_axes):
                updates.append((place, self._shardings.number(new)))
        return StepResult(tuple(updates), Change(step, before, after)) if updates else UNCHANGED
