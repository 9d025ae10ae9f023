"""The path of each axis to each value, from an initial sharding, step by step.

The trace of a run is read backwards: the step that propagated an axis has the tensor that the axis came from, and the
earlier steps are searched for that tensor in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sdy.model.axis import AxisRef, contains, overlaps
from sdy.model.sharding import TensorSharding
from sdy.propagation.graph import Value
from sdy.propagation.trace import AxisMove, TraceStep, holders_of


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
                for holder in _reached(holders[move.target]):
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


def _reached(target: Value | None) -> list[Value]:
    """Return the holder, and the holders of the other members of its sharding group."""
    if target is None:
        return []
    others = [
        member.holder for member in target.group or () if member.holder is not None and member.holder is not target
    ]
    return [target, *others]
