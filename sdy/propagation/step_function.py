"""The visit of an op as a pure, memoized function of numbers.

Equal layers of a network have equal rules and equal shardings, so most visits are a single lookup.
Source: docs/spec/02, 1.7, 2.5 and 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sdy.model.mesh import Mesh
from sdy.model.mesh_table import common_mesh
from sdy.model.rule import OpShardingRule
from sdy.model.sharding import TensorSharding
from sdy.propagation.graph import MISSING, Direction, Numbering
from sdy.propagation.projection import Projection, project, to_sharding
from sdy.propagation.strategies.step import OpStep, PropagationStrategy


@dataclass(frozen=True, slots=True)
class Change:
    """The input and output of a strategy in one step, for the trace."""

    step: OpStep
    before: Projection
    after: Projection


@dataclass(frozen=True, slots=True)
class StepResult:
    """The changes of a step: pairs of a tensor index and the number of its new sharding, in tensor order."""

    updates: tuple[tuple[int, int], ...] = ()
    change: Change | None = None  # None without updates


UNCHANGED = StepResult()
Directions = tuple[Direction, ...]  # one per factor
StepKey = tuple[int, tuple[int, ...], int, bool, bool]


@dataclass(frozen=True, slots=True)
class StepFunction:
    """The visit of one op by one strategy, over numbered rules, shardings and directions."""

    strategy: PropagationStrategy
    meshes: Mapping[str, Mesh]
    rules: Numbering[OpShardingRule]
    shardings: Numbering[TensorSharding]
    directions: Numbering[Directions]
    known: dict[StepKey, StepResult] = field(default_factory=dict["StepKey", StepResult])

    def __call__(
        self,
        rule: int,
        shardings: tuple[int, ...],
        directions: int,
        is_elementwise: bool,
        conservative: bool,
    ) -> StepResult:
        """Return the changes of a visit to tensors with these shardings, operands then results."""
        key = (rule, shardings, directions, is_elementwise, conservative)
        result = self.known.get(key)
        if result is None:
            result = self.known[key] = self._compute(key)
        return result

    def _compute(self, key: StepKey) -> StepResult:
        rule_number, numbers, direction_number, is_elementwise, conservative = key
        old = tuple(None if number == MISSING else self.shardings.value(number) for number in numbers)
        if all(sharding is None or sharding.is_fully_replicated for sharding in old):
            return UNCHANGED  # no axis can propagate
        common = common_mesh(old, self.meshes)
        if common is None or common.mesh.is_maximal:
            return UNCHANGED
        mesh = common.mesh
        rule, directions = self.rules.value(rule_number), self.directions.value(direction_number)
        before = project(rule, old, mesh)
        step = OpStep(rule, directions, mesh, is_elementwise, conservative)
        after = self.strategy(step, before)
        updates: list[tuple[int, int]] = []
        for index, (was, now) in enumerate(zip(before.tensors, after.tensors, strict=True)):
            if now is was:
                continue
            new = to_sharding(now, rule.tensors[index], rule.factor_sizes, old[index], common.reference, mesh)
            if new != old[index] and not (old[index] is None and new.has_no_axes):
                updates.append((index, self.shardings.number(new)))
        return StepResult(tuple(updates), Change(step, before, after)) if updates else UNCHANGED
