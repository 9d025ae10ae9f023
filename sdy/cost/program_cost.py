"""The cost of a local program on a machine: seconds of computation and communication, and peak memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isclose

from xdsl.dialects.builtin import ModuleOp

from sdy.cost.collectives import CollectiveKind
from sdy.cost.flops import unpriced_ops
from sdy.cost.hardware import Hardware
from sdy.cost.memory import peaks
from sdy.cost.quantities import seconds_text
from sdy.cost.roofline import OpTime
from sdy.cost.schedule import CollectiveRun, HostTransfer, Overlap, Schedule, overlapped_seconds, schedule_of
from sdy.diagnostics.wording import counted
from sdy.documents.document import document
from sdy.grammar.write import write_axis_list
from sdy.model.html_repr import TextRepr
from sdy.model.mesh import Mesh


@dataclass(frozen=True, slots=True)
class CollectiveCost:
    """The collectives of one kind along the same axes, on one device.

    `places` counts their ops in the program, `runs` their executions; the other numbers are sums over all runs.
    """

    kind: CollectiveKind
    axes: str  # in the notation of shardings
    places: int = 0
    runs: int = 0
    bytes_sent: float = 0.0
    seconds: float = 0.0
    latency_bound_runs: int = 0

    def __repr__(self) -> str:
        """Return one line with the runs, bytes and time."""
        numbers = f"{counted(self.runs, 'run')}, {self.bytes_sent:,.0f} bytes, {seconds_text(self.seconds)}"
        return f"CollectiveCost({self.kind.value} along {self.axes}: {numbers})"


@dataclass(frozen=True, slots=True)
class ProgramCost(TextRepr):
    """The cost of a local program on one device. Seconds are sums over all runs of an op, including those in loops."""

    hardware: Hardware
    collectives: tuple[CollectiveCost, ...]
    compute_seconds: float  # all contractions
    memory_seconds: float  # the bytes of all kernels at the memory bandwidth
    op_seconds: float  # the sum of the time of each kernel
    peak_bytes: int
    free_bytes: float
    axes: tuple[str, ...] = ()  # of the mesh, in order
    host_seconds: float = 0.0  # all transfers between the memories of device and host
    seconds: float = 0.0  # with collectives beside the ops, as a compiler schedules them
    attention_seconds: float = 0.0  # the part of the ops that kernels of flash attention take
    attention_bytes: int = 0  # by which the peak is lower if kernels of flash attention run it
    unpriced: tuple[str, ...] = ()  # the ops without a known cost: only the bytes of operands and results count

    def __repr__(self) -> str:
        """Return one line with the machine, the time, the bytes sent and the peak memory."""
        numbers = f"{seconds_text(self.seconds)}, {self.bytes_sent:,.0f} bytes sent, {self.peak_bytes:,} peak bytes"
        return f"ProgramCost({self.hardware.name}: {numbers})"

    @property
    def bytes_sent(self) -> float:
        """The bytes that the device sends in all collectives."""
        return sum(cost.bytes_sent for cost in self.collectives)

    @property
    def communication_seconds(self) -> float:
        """The time of all collectives, one after another."""
        return sum(cost.seconds for cost in self.collectives)

    @property
    def seconds_overlapped(self) -> float:
        """The total time if communication overlaps with computation completely."""
        return max(self.op_seconds, self.communication_seconds, self.host_seconds)

    @property
    def seconds_in_turn(self) -> float:
        """The total time without overlap."""
        return self.op_seconds + self.communication_seconds + self.host_seconds

    def seconds_with(self, overlap: Overlap) -> float:
        """Return the total time with an overlap of collectives and ops."""
        match overlap:
            case Overlap.NONE:
                return self.seconds_in_turn
            case Overlap.COMPILER:
                return self.seconds
            case Overlap.PERFECT:
                return self.seconds_overlapped

    def is_no_slower(self, than: ProgramCost) -> bool:
        """Return whether no time of the program is longer than that of another one, with or without overlap.

        Times that differ by less than a thousandth are equal: they are predicted, and no estimate is better than that.
        """
        pairs = ((self.seconds_with(overlap), than.seconds_with(overlap)) for overlap in Overlap)
        return all(own <= other or isclose(own, other, rel_tol=1e-3) for own, other in pairs)

    @property
    def exposed_seconds(self) -> float:
        """The part of `seconds` in which the device waits for collectives or for the host."""
        return max(0.0, self.seconds - self.op_seconds)

    @property
    def fits(self) -> bool:
        """Return whether the peak memory fits into the free memory of the device."""
        return self.peak_bytes <= self.free_bytes

    def to_json(self) -> dict[str, object]:
        """Return the cost as plain data, with bytes rounded to integers."""
        return document("Cost", self, hardware=self.hardware.name, error=self.hardware.error)


def cost_of(
    local: ModuleOp,
    mesh: Mesh,
    hardware: Hardware,
    free_bytes: float | None = None,
    schedule: Schedule | None = None,
) -> ProgramCost:
    """Return the cost of a local program, as produced by `sdy-local-pipeline`, on the devices of `mesh`.

    `free_bytes` is the memory of a device that the program may use, by default all of it. `schedule` is that of the
    program, if it is known.
    Raises: SdyError SDY-T210 if a collective refers to a device that is not in the mesh.
    """
    compute = memory = seconds = host = attention = 0.0
    collectives: dict[tuple[CollectiveKind, str], CollectiveCost] = {}
    schedule = schedule or schedule_of(local, mesh, hardware)
    for scheduled in schedule.ops:
        if scheduled.visit.is_left:
            continue
        match scheduled.work:
            case OpTime() as time:
                compute += scheduled.visit.times * time.compute_seconds
                memory += scheduled.visit.times * time.memory_seconds
                seconds += scheduled.seconds
                attention += scheduled.seconds if time.is_attention else 0.0
            case HostTransfer() as moved:
                host += scheduled.visit.times * moved.seconds
            case CollectiveRun(kind=kind, axes=axes) as run:
                key = kind, write_axis_list(axes)
                collectives[key] = _with_runs(collectives.get(key, CollectiveCost(*key)), run, scheduled.visit.times)
    free = hardware.hbm_bytes if free_bytes is None else free_bytes
    found, axes = tuple(collectives.values()), tuple(axis.name for axis in mesh.axes)
    most, with_flash = peaks(local, schedule.in_attention)
    scheduled_seconds = overlapped_seconds(schedule.ops, hardware.kernels)
    times = host, scheduled_seconds, attention
    unpriced = tuple(unpriced_ops(local))
    return ProgramCost(hardware, found, compute, memory, seconds, most, free, axes, *times, most - with_flash, unpriced)


def _with_runs(so_far: CollectiveCost, run: CollectiveRun, times: int) -> CollectiveCost:
    """Return the cost with one more op of the same kind and axes."""
    return replace(
        so_far,
        places=so_far.places + 1,
        runs=so_far.runs + times,
        bytes_sent=so_far.bytes_sent + times * run.bytes_sent,
        seconds=so_far.seconds + times * run.seconds,
        latency_bound_runs=so_far.latency_bound_runs + times * run.is_latency_bound,
    )
