"""The trace of a propagation, step by step: which axis moved from which tensor of an op to which other one.

A strategy only returns the new projection. Comparing it with the projection before gives the axes that each tensor
gained along each factor; the source is the first tensor that had them. Nothing is recorded unless a trace is requested.

The path of an axis to a value is found by reading the trace backwards: the step that propagated the axis has the tensor
that it came from, and the earlier steps are searched for that tensor in turn. Source: docs/spec/02, 9.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sdy.model.axis import AxisList, AxisRef, can_merge, contains, overlaps
from sdy.model.axis_on_mesh import merge_refs
from sdy.model.rule import DimMapping, FactorIndex
from sdy.model.sharding import TensorSharding
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
    return next((index for index, tensor in enumerate(before.tensors) if tensor.has_axes(factor, axes)), None)


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """A step that propagated an axis to a holder: the target of `move`, or a member of the target's sharding group."""

    step: TraceStep
    move: AxisMove
    holder: Value

    @property
    def source(self) -> Value | None:
        """The holder that the axis came from."""
        return holders_of(self.step.site)[self.move.source]

    @property
    def target(self) -> Value | None:
        """The holder that the axis went to: `holder`, or another member of its sharding group."""
        return holders_of(self.step.site)[self.move.target]


@dataclass(frozen=True, slots=True)
class AxisPath:
    """The holder that an axis started from, and the steps that propagated it, in order."""

    axis: AxisRef
    root: Value
    arrivals: tuple[Arrival, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PathLink:
    """The last step of the path of an axis to a holder, and the path before that step.

    `arrival` and `before` are None at `root`, the holder that the axis started from. Paths share their common links.
    """

    root: Value
    arrival: Arrival | None = None
    before: PathLink | None = None


class History:
    """The arrivals of axes in the trace of a run, by holder. `initial` has the shardings before the run."""

    def __init__(self, initial: Mapping[Value, TensorSharding], steps: Sequence[TraceStep]) -> None:
        self._initial = initial
        self._links: dict[tuple[Value, AxisRef], PathLink] = {}
        self._arrivals: dict[Value, list[Arrival]] = {}
        for step in steps:
            holders = holders_of(step.site)
            for move in step.moves:
                target = holders[move.target]
                for holder in () if target is None else (target, *target.grouped_holders):
                    self._arrivals.setdefault(holder, []).append(Arrival(step, move, holder))

    def path(self, holder: Value, axis: AxisRef) -> AxisPath:
        """Return the path of `axis` to `holder`, through the first step that propagated it each time."""
        last = self.last_link(holder, axis)
        arrivals: list[Arrival] = []
        link = last
        while link.arrival is not None and link.before is not None:
            arrivals.append(link.arrival)
            link = link.before
        return AxisPath(axis, last.root, tuple(reversed(arrivals)))

    def last_link(self, holder: Value, axis: AxisRef) -> PathLink:
        """Return the path of `axis` to `holder` as links, each of which is made once."""
        found: list[tuple[Arrival, tuple[Value, AxisRef] | None]] = []  # with the key of the link if it is kept
        current, before = axis, None
        while (known := self._known_link(holder, current, before)) is None:
            first = self.arrival(holder, current)
            is_first = first is None or before is None or first.step.number < before
            arrival = first if is_first else self.arrival(holder, current, before)
            source = None if arrival is None else arrival.source
            key = (holder, current) if is_first else None
            if arrival is None or source is None:
                known = self._kept(key, PathLink(holder))
                break
            found.append((arrival, key))
            before, holder = arrival.step.number, source
            if contains(current, arrival.move.axis):
                current = arrival.move.axis
        for arrival, key in reversed(found):
            known = self._kept(key, PathLink(known.root, arrival, known))
        return known

    def _kept(self, key: tuple[Value, AxisRef] | None, link: PathLink) -> PathLink:
        if key is not None:
            self._links[key] = link
        return link

    def _known_link(self, holder: Value, axis: AxisRef, before: int | None) -> PathLink | None:
        """Return the link that was made for the first arrival of the axis, if it was before that step."""
        link = self._links.get((holder, axis))
        is_before = link is not None and (before is None or link.arrival is None or link.arrival.step.number < before)
        return link if is_before else None

    def arrival(self, holder: Value, axis: AxisRef, before: int | None = None) -> Arrival | None:
        """Return the first step that propagated `axis` to `holder`, among those `before` a step number if given.

        If the axis was propagated as several sub-axes, return the step of the last one. Return None if it was there
        from the start.
        """
        if self.is_initial(holder, axis):
            return None
        last_part: Arrival | None = None
        for arrival in self._arrivals.get(holder, ()):
            if before is not None and arrival.step.number >= before:
                break
            if contains(arrival.move.axis, axis):
                return arrival
            if overlaps(arrival.move.axis, axis):
                last_part = arrival
        return last_part

    def is_initial(self, holder: Value, axis: AxisRef) -> bool:
        """Return whether the initial sharding of `holder` has the axis in a dim."""
        sharding = self._initial.get(holder)
        return sharding is not None and any(contains(own, axis) for dim in sharding.dims for own in dim.axes)
