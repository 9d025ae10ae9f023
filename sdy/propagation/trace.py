"""Which tensor of an op handed which axis to which other tensor, step by step.

A strategy only says what a projection looks like afterwards. Comparing it with the projection before tells which axes
each tensor gained along which factor, and the first tensor that had them is the source. Nothing is recorded unless
somebody asks. Source: docs/spec/02, 9.4.
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

Site = Node | FunctionResult  # where a step happens: at an op, or between a returned value and its result attribute


@dataclass(frozen=True, slots=True)
class AxisMove:
    """An axis came from one tensor of an op to another, along a factor. Tensors are counted operands first."""

    axis: AxisRef
    factor: FactorIndex
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One visit that changed something."""

    number: int
    site: Site
    change: Change
    moves: tuple[AxisMove, ...]


class Trace:
    """The steps of a run of the engine, in order: give `record` to the engine as `on_update`."""

    def __init__(self) -> None:
        self.steps: list[TraceStep] = []

    def record(self, site: Site, outcome: StepResult) -> None:
        """Append a step. It must have changed something."""
        assert outcome.change is not None
        self.steps.append(TraceStep(len(self.steps), site, outcome.change, moves_in(outcome.change)))


def holders_of(site: Site) -> tuple[Value | None, ...]:
    """Where the shardings of the tensors of a site are held, operands then results."""
    return site.tensors if isinstance(site, Node) else (site.returned.holder, site.holder)


def moves_in(change: Change) -> tuple[AxisMove, ...]:
    """What was moved, tensor by tensor, along the factors in the order of the dims; each axis once a tensor."""
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
    """Add to `gained` the axes that one dim took; a sub-axis that continues one on the factor before joins it."""
    previous: AxisRef | None = None
    for factor in dim_factors:
        had, axes = old.axes(factor), new.axes(factor)
        if had is None or axes is None or had == axes:
            continue
        last = axes[-1]
        joined = axes
        if previous is not None and can_merge(previous, last):
            gained.pop(previous, None)
            joined = (*axes[:-1], merge_refs(previous, last, change.step.mesh))
        previous = last
        source = _source(change.before, factor, axes)
        if source is None:
            continue
        for axis in _new_axes(had, joined):
            gained.setdefault(axis, (factor, source))


def _new_axes(had: AxisList, axes: AxisList) -> Iterator[AxisRef]:
    """What of `axes` was not there: its last axis may have grown."""
    if had and had[-1] != axes[len(had) - 1]:
        yield axes[len(had) - 1]
    yield from axes[len(had) :]


def _source(before: Projection, factor: FactorIndex, axes: AxisList) -> int | None:
    """The first tensor that had `axes`, or more, along the factor."""
    for place, tensor in enumerate(before.tensors):
        had = tensor.axes(factor)
        if had is not None and (had == axes or is_strict_list_prefix(axes, had)):
            return place
    return None
