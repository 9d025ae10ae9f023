"""Converts the schedule of a local program to a trace for Chrome (chrome://tracing) and Perfetto (ui.perfetto.dev).

The trace has one track for computation, one for the links of each mesh axis in use, and one for loops; the live bytes
are a counter. Times are in microseconds, as the format requires, and multiples of a nanosecond.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from xdsl.ir import Operation

from sdy.compile.compiled import Compiled
from sdy.cost.executions import runs_of_regions
from sdy.cost.hardware import Hardware
from sdy.cost.memory import memory_curve
from sdy.cost.roofline import OpTime
from sdy.cost.schedule import CollectiveRun, HostTransfer, ScheduledOp, schedule_of
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.dialects.stablehlo.control import WhileOp
from sdy.grammar.write import write_axis_list
from sdy.model.mesh import Mesh
from sdy.report.explanation.value_names import line_of

Event = dict[str, object]
_LOOPS, _COMPUTE, _HOST = "loops", "compute", "host memory"
_PROCESS = 0


Tracks = tuple[str, ...]  # in display order; the number of a track is that of a thread


def schedule_trace(program: Compiled[Any], hardware: Hardware) -> dict[str, object]:
    """Return the trace of a program on a machine as data for `json.dump`."""
    mesh, source_lines = program.mesh, program.origin.source_lines
    schedule, curve = schedule_of(program.local, mesh, hardware), memory_curve(program.local)
    slots = schedule.ops
    tracks = _tracks(slots, mesh)
    named = [_metadata("process_name", _PROCESS, f"one device of {hardware.name}")]
    named += [_metadata("thread_name", number, name) for number, name in enumerate(tracks)]
    slices = (event for slot in slots for event in _slices(slot, tracks, source_lines))
    # Of events that start at the same time, loops come first, outer loops before inner ones.
    events = [*reversed(list(_loops(slots, tracks, source_lines))), *slices, *_counter(slots, curve)]
    return {
        "displayTimeUnit": "ns",
        "otherData": {"machine": hardware.name, "seconds": schedule.seconds},
        "traceEvents": [*named, *sorted(events, key=lambda event: cast(float, event["ts"]))],
    }


def _links_of(sending: CollectiveRun) -> list[str]:
    """Return the tracks of the links that a collective uses, one for each mesh axis."""
    return [f"links of {name}" for name in dict.fromkeys(ref.name for ref in sending.axes)]


def _tracks(slots: Sequence[ScheduledOp], mesh: Mesh) -> Tracks:
    used = {links for slot in slots if isinstance(slot.work, CollectiveRun) for links in _links_of(slot.work)}
    links = (name for axis in mesh.axes if (name := f"links of {axis.name}") in used)
    host = [_HOST] if any(isinstance(slot.work, HostTransfer) for slot in slots) else []
    return _LOOPS, _COMPUTE, *links, *host


def _metadata(kind: str, thread: int, name: str) -> Event:
    return {"ph": "M", "pid": _PROCESS, "tid": thread, "name": kind, "args": {"name": name}}


def _slices(slot: ScheduledOp, tracks: Tracks, source_lines: Mapping[int, str]) -> Iterable[Event]:
    """Yield one event for an op, or one per used link for a collective; none for an op that takes no time."""
    if not slot.seconds:
        return
    op, runs = slot.visit.op, slot.visit.times
    arguments = _arguments(op, runs, source_lines)
    match slot.work:
        case OpTime() as time:
            used, name = [_COMPUTE], op.name.partition(".")[2]
            arguments["bound by"] = "FLOPs" if time.is_compute_bound else "memory"
        case CollectiveRun() as sending:
            used, name = _links_of(sending), f"{sending.kind.value} {write_axis_list(sending.axes)}"
            arguments["bytes sent"] = round(runs * sending.bytes_sent)
            arguments["bound by"] = "latency" if sending.is_latency_bound else "bandwidth"
        case HostTransfer() as moved:
            used, name = [_HOST], "transfer"
            arguments["bytes sent"] = round(runs * moved.bytes_sent)
    for track in used:
        yield _complete(tracks.index(track), name, slot.start, slot.end, arguments)


def _complete(thread: int, name: str, start: float, end: float, arguments: Event) -> Event:
    begins, ends = round(start * 1e9), round(end * 1e9)  # round both, so that the next event starts where this one ends
    times = {"ts": begins / 1e3, "dur": (ends - begins) / 1e3}
    return {"ph": "X", "pid": _PROCESS, "tid": thread, "name": name, **times, "args": arguments}


def _arguments(op: Operation, runs: int, source_lines: Mapping[int, str]) -> Event:
    line = line_of(op)
    location: Event = {}
    if line is not None:
        location["line"] = line
        if line in source_lines:
            location["source"] = source_lines[line]
    shapes = ", ".join(str(result.type) for result in op.results if as_tensor(result.type) is not None)
    return {"op": op.name, "results": shapes, "runs": runs, **location}


def _loops(slots: Sequence[ScheduledOp], tracks: Tracks, source_lines: Mapping[int, str]) -> Iterable[Event]:
    """Yield one event per loop, which encloses the events of its body."""
    open_: list[ScheduledOp] = []
    for slot in slots:
        op = slot.visit.op
        if not isinstance(op, WhileOp):
            continue
        if not slot.visit.is_left:
            open_.append(slot)
            continue
        begun, trips = open_.pop(), runs_of_regions(op)
        arguments = _arguments(op, begun.visit.times, source_lines) | {"trips": trips}
        yield _complete(tracks.index(_LOOPS), f"while, {trips} trips", begun.start, slot.start, arguments)


def _counter(slots: Sequence[ScheduledOp], curve: Sequence[int]) -> Iterable[Event]:
    """Yield the live bytes wherever they change."""
    before = -1
    for slot, alive in zip(slots, curve, strict=True):
        if alive != before:
            at = round(slot.start * 1e9) / 1e3
            yield {"ph": "C", "pid": _PROCESS, "name": "live bytes", "ts": at, "args": {"bytes": alive}}
        before = alive
