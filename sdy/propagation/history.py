"""How each axis came to each value: from the sharding that it had at the start, step by step.

Reads the trace of a run backwards: the step that brought an axis names the tensor it came from, and what that one had
is asked again, of the steps before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sdy.model.axis import AxisRef, contains, overlaps
from sdy.model.sharding import TensorSharding
from sdy.propagation.graph import Value
from sdy.propagation.trace import AxisMove, TraceStep, holders_of


@dataclass(frozen=True, slots=True)
class Arrival:
    """A step that brought an axis to a holder: as the target of `move`, or as a member of the target's group."""

    step: TraceStep
    move: AxisMove
    holder: Value

    @property
    def source(self) -> Value | None:
        """Where the axis came from."""
        return holders_of(self.step.site)[self.move.source]

    @property
    def target(self) -> Value | None:
        """Where it went: `holder`, or another member of its group."""
        return holders_of(self.step.site)[self.move.target]


@dataclass(frozen=True, slots=True)
class AxisPath:
    """Where an axis began, and the steps that brought it on, in order."""

    axis: AxisRef
    root: Value
    arrivals: tuple[Arrival, ...]


class History:
    """What the trace of a run says, by holder. `initial` are the shardings before the run."""

    def __init__(self, initial: Mapping[Value, TensorSharding], steps: Sequence[TraceStep]) -> None:
        self._initial = initial
        self._arrivals: dict[Value, list[Arrival]] = {}
        for step in steps:
            holders = holders_of(step.site)
            for move in step.moves:
                for holder in _reached(holders[move.target]):
                    self._arrivals.setdefault(holder, []).append(Arrival(step, move, holder))

    def chain(self, holder: Value, axis: AxisRef) -> AxisPath:
        """From the start to `axis` at `holder`, by the steps that brought it first."""
        arrivals: list[Arrival] = []
        wanted, before = axis, None
        while (arrival := self.arrival(holder, wanted, before)) is not None and arrival.source is not None:
            arrivals.append(arrival)
            before, holder = arrival.step.number, arrival.source
            if contains(wanted, arrival.move.axis):
                wanted = arrival.move.axis
        return AxisPath(axis, holder, tuple(reversed(arrivals)))

    def arrival(self, holder: Value, axis: AxisRef, before: int | None = None) -> Arrival | None:
        """The first step (of those `before` a number) that brought `axis`; None where it was there from the start.

        Of an axis that came in pieces, the step that brought the last one.
        """
        if self.is_initial(holder, axis):
            return None
        found: Arrival | None = None
        for arrival in self._arrivals.get(holder, ()):
            if before is not None and arrival.step.number >= before:
                break
            if contains(arrival.move.axis, axis):
                return arrival
            if overlaps(arrival.move.axis, axis):
                found = arrival
        return found

    def is_initial(self, holder: Value, axis: AxisRef) -> bool:
        """Whether the sharding at the start has the axis in a dim."""
        sharding = self._initial.get(holder)
        return sharding is not None and any(contains(own, axis) for dim in sharding.dims for own in dim.axes)


def _reached(target: Value | None) -> list[Value]:
    """The holder, and those of the other members of its value's group."""
    if target is None:
        return []
    others = [
        member.holder for member in target.group or () if member.holder is not None and member.holder is not target
    ]
    return [target, *others]
