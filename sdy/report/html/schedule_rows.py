"""The rows of a schedule on the page: the collectives with their times, and the live bytes over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from sdy.compile.origin import Origin
from sdy.cost.memory_curve import PeakValues
from sdy.cost.schedule import CollectiveRun, ScheduledOp
from sdy.dialects.data_flow import op_of
from sdy.report.explanation.causes import CollectiveCauses, resharded_arguments
from sdy.report.explanation.counterparts import Counterparts
from sdy.report.explanation.value_names import ValueNames, line_of
from sdy.report.html.page_tables import Json, axis_cells

MAX_POINTS = 1000  # of the memory curve, about its width in pixels
MAX_VALUES = 200  # of the values at the peak, the largest ones


class CollectiveRow(NamedTuple):
    """A collective of the local program, with totals over all its runs on one device, and its causes."""

    kind: str
    axes: list[list[str]]
    bytes_sent: int
    seconds: float
    runs: int
    is_latency_bound: bool
    line: int | None
    source: str
    cause: str
    details: list[str]


class MemoryPoint(NamedTuple):
    """The maximum of the live bytes from `seconds` to the next point."""

    seconds: float
    bytes: int
    op: str
    line: int | None


class AliveValue(NamedTuple):
    """A value that is live at the peak."""

    name: str
    type: str
    bytes: int
    line: int | None


def collective_rows(slots: Sequence[ScheduledOp], origin: Origin[Any], causes: CollectiveCauses) -> list[CollectiveRow]:
    """Return the rows of the collectives of a schedule, in program order.

    The source of a reshard of arguments of the main function is their names.
    """
    found: list[CollectiveRow] = []
    for slot in slots:
        if isinstance(slot.work, CollectiveRun) and not slot.visit.is_left:
            line, runs, sending = line_of(slot.visit.op), slot.visit.times, slot.work
            arguments = resharded_arguments(slot.visit.op)
            cells, sent = axis_cells(sending.axes), round(runs * sending.bytes_sent)
            place = line, sending.axes, [each.index for each in arguments]
            found.append(
                CollectiveRow(
                    sending.kind.value,
                    cells,
                    sent,
                    slot.seconds,
                    runs,
                    sending.is_latency_bound,
                    line,
                    origin.place_of_reshard(line, arguments),
                    causes.kind(sending.kind, *place).value,
                    list(causes.of(*place)),
                )
            )
    return found


def memory_json(
    local: ModuleOp, peak: PeakValues, slots: Sequence[ScheduledOp], written: ModuleOp, names: ValueNames
) -> Json:
    """Return the memory curve of a local program, its peak, and the live values there, the largest first."""
    counterparts = Counterparts(written, local)
    largest = sorted(peak.values.items(), key=lambda each: -each[1])
    return {
        "points": [_point(*each) for each in _thinned(slots, peak.curve)],
        "peak": _point(slots[peak.index], peak.curve[peak.index]),
        "seconds": slots[-1].end,
        "values": [_alive(value, size, counterparts, names) for value, size in largest[:MAX_VALUES]],
        "value_count": len(largest),
    }


def _point(slot: ScheduledOp, alive: int) -> MemoryPoint:
    return MemoryPoint(slot.start, alive, slot.visit.op.name, line_of(slot.visit.op))


def _thinned(slots: Sequence[ScheduledOp], curve: Sequence[int]) -> Iterable[tuple[ScheduledOp, int]]:
    """Return the highest point of each of at most `MAX_POINTS` intervals of time, with its op."""
    span = slots[-1].start / MAX_POINTS
    highest: dict[int, tuple[ScheduledOp, int]] = {}
    for slot, alive in zip(slots, curve, strict=True):
        interval = int(slot.start / span) if span else 0
        if interval not in highest or alive > highest[interval][1]:
            highest[interval] = slot, alive
    return highest.values()


def _alive(value: SSAValue, size: int, counterparts: Counterparts, names: ValueNames) -> AliveValue:
    written, op = counterparts.written(value), op_of(value)
    name = (op.name if op is not None else "") if written is None else names[written]
    return AliveValue(name, str(value.type), size, None if op is None else line_of(op))
