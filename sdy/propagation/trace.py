"""The trace of a propagation: which axis moved from which tensor of an op to which other one, step by step.

A strategy only returns the new projection. Comparing it with the projection before gives the axes that each tensor
gained along each factor; the source is the first tensor that had them. Nothing is recorded unless a trace is requested.
Source: docs/spec/02, 9.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sdy.model.axis import AxisList, AxisRef, can_merge
from sdy.model.axis_list import is_strict_list_prefix
from sdy.model.axis_on_mesh import merge_refs
from sdy.model.rule import DimMapping, FactorIndex
from sdy.propagation.graph import FunctionResult, Node, Value
from sdy.propagation.projection import Projection, TensorProjection
from sdy.propagation.step_function import Change, StepResult

Site = Node | FunctionResult  # an op, or the link between a returned value and its result attribute


@dataclass(frozen=True, slots=True)
class AxisMove:
    """An axis that moved from one tensor of an op to another, along a factor. Tensor indices count operands first."""

    axis: AxisRef
    factor: FactorIndex
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One visit that changed a sharding."""

    number: int
    site: Site
    change: Change
    moves: tuple[AxisMove, ...]


class Trace:
    """The steps of a run of the engine, in order. Pass `record` to the engine as `on_update`."""

    def __init__(self) -> None:
        self.steps: list[TraceStep] = []
        # By the id of a change, which the steps keep alive: the engine has one for all ops with equal shardings.
        self._moves: dict[int, tuple[AxisMove, ...]] = {}

    def record(self, site: Site, outcome: StepResult) -> None:
        """Append a step, which must have changed something."""
        change = outcome.change
        assert change is not None
        moves = self._moves.get(id(change))
        if moves is None:
            moves = self._moves[id(change)] = moves_in(change)
        self.steps.append(TraceStep(len(self.steps), site, change, moves))


def holders_of(site: Site) -> tuple[Value | None, ...]:
    """Return the holders of the tensors of a site, operands then results."""
    return site.tensors if isinstance(site, Node) else (site.returned.holder, site.holder)


def moves_in(change: Change) -> tuple[AxisMove, ...]:
    """Return the moves of a step, by tensor and then by factor in dim order. Each axis occurs once per tensor."""
    moves: list[AxisMove] = []
    tensors = zip(change.before.tensors, change.after.tensors, change.step.rule.tensors, strict=True)
    for target, (old, new, mapping) in enumerate(tensors):
        if new is old:
            continue
        gained: dict[AxisRef, tuple[FactorIndex, int]] = {}
        for dim_factors in mapping:
            _compare_dim(dim_factors, old, new, change, gained)
        moves += (AxisMove(axis, factor, source, target) for axis, (factor, source) in gained.items())
    return tuple(moves)


def _compare_dim(
    dim_factors: DimMapping,
    old: TensorProjection,
    new: TensorProjection,
    change: Change,
    gained: dict[AxisRef, tuple[FactorIndex, int]],
) -> None:
    """Add to `gained` the axes that one dim gained, merging a sub-axis with an adjacent one on the factor before."""
    previous: AxisRef | None = None
    for factor in dim_factors:
        had, axes = old.axes(factor), new.axes(factor)
        if had is None or axes is None or had == axes:
            continue
        last = axes[-1]
        merged = axes
        if previous is not None and can_merge(previous, last):
            gained.pop(previous, None)
            merged = (*axes[:-1], merge_refs(previous, last, change.step.mesh))
        previous = last
        source = _source(change.before, factor, axes)
        if source is None:
            continue
        for axis in _new_axes(had, merged):
            gained.setdefault(axis, (factor, source))


def _new_axes(had: AxisList, axes: AxisList) -> Iterator[AxisRef]:
    """Yield the axes that are new or longer in `axes`, compared with `had`."""
    if had and had[-1] != axes[len(had) - 1]:
        yield axes[len(had) - 1]
    yield from axes[len(had) :]


def _source(before: Projection, factor: FactorIndex, axes: AxisList) -> int | None:
    """Return the index of the first tensor that had `axes`, or more, along the factor."""
    for index, tensor in enumerate(before.tensors):
        had = tensor.axes(factor)
        if had is not None and (had == axes or is_strict_list_prefix(axes, had)):
            return index
    return None
