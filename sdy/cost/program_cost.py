"""What a local program costs on a machine: seconds of computing and communicating, and whether it fits in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from sdy.cost.collectives import CollectiveKind
from sdy.cost.hardware import Hardware
from sdy.cost.memory import peak_bytes
from sdy.cost.roofline import OpTime
from sdy.cost.schedule import CollectiveRun, schedule_of
from sdy.grammar.write import write_axis_list
from sdy.model.mesh import Mesh


@dataclass(frozen=True, slots=True)
class CollectiveCost:
    """The collectives of one kind along the same axes, of one device: in the program, and in all of their runs."""

    kind: CollectiveKind
    axes: str  # as shardings write them
    places: int = 0
    runs: int = 0
    bytes_sent: float = 0.0
    seconds: float = 0.0
    latency_bound_runs: int = 0


@dataclass(frozen=True, slots=True)
class ProgramCost:
    """Of one device. Seconds are of all runs of an op, in loops too."""

    hardware: Hardware
    collectives: tuple[CollectiveCost, ...]
    compute_seconds: float  # all contractions at the full rate
    memory_seconds: float  # the bytes of all ops at the full bandwidth
    op_seconds: float  # the larger one, op by op
    peak_bytes: int
    free_bytes: float

    @property
    def communication_seconds(self) -> float:
        """By all collectives, one after another."""
        return sum(each.seconds for each in self.collectives)

    @property
    def seconds_overlapped(self) -> float:
        """Where communication is hidden behind other ops as well as it can be."""
        return max(self.op_seconds, self.communication_seconds)

    @property
    def seconds_in_turn(self) -> float:
        """Where nothing happens in the meantime."""
        return self.op_seconds + self.communication_seconds

    @property
    def fits(self) -> bool:
        """Whether the most bytes alive at once are free on the device."""
        return self.peak_bytes <= self.free_bytes

    def to_json(self) -> dict[str, object]:
        """As plain data; bytes are rounded to whole ones."""
        return {
            "hardware": self.hardware.name,
            "fits": self.fits,
            "peak_bytes": self.peak_bytes,
            "free_bytes": round(self.free_bytes),
            "compute_seconds": self.compute_seconds,
            "memory_seconds": self.memory_seconds,
            "op_seconds": self.op_seconds,
            "communication_seconds": self.communication_seconds,
            "seconds_overlapped": self.seconds_overlapped,
            "seconds_in_turn": self.seconds_in_turn,
            "collectives": [
                {
                    "kind": each.kind.value,
                    "axes": each.axes,
                    "places": each.places,
                    "runs": each.runs,
                    "bytes_sent": round(each.bytes_sent),
                    "seconds": each.seconds,
                    "latency_bound_runs": each.latency_bound_runs,
                }
                for each in self.collectives
            ],
        }


def cost_of(local: ModuleOp, mesh: Mesh, hardware: Hardware, free_bytes: float | None = None) -> ProgramCost:
    """Of a local program, as `sdy-local-pipeline` leaves it, on the devices of `mesh`.

    `free_bytes`: memory of a device that the program may use; all of it without.
    Raises: SdyError SDY-T210 where a collective names a device that the mesh does not have.
    """
    compute = memory = seconds = 0.0
    collectives: dict[tuple[CollectiveKind, str], CollectiveCost] = {}
    for slot in schedule_of(local, mesh, hardware):
        if slot.visit.is_left:
            continue
        match slot.work:
            case OpTime() as time:
                compute += slot.visit.times * time.compute_seconds
                memory += slot.visit.times * time.memory_seconds
                seconds += slot.seconds
            case CollectiveRun(kind=kind, axes=axes) as sending:
                key = kind, write_axis_list(axes)
                collectives[key] = _with_runs(collectives.get(key, CollectiveCost(*key)), sending, slot.visit.times)
    free = hardware.hbm_bytes if free_bytes is None else free_bytes
    return ProgramCost(hardware, tuple(collectives.values()), compute, memory, seconds, peak_bytes(local), free)


def _with_runs(so_far: CollectiveCost, sending: CollectiveRun, times: int) -> CollectiveCost:
    """With another place of the program where the collective stands."""
    return replace(
        so_far,
        places=so_far.places + 1,
        runs=so_far.runs + times,
        bytes_sent=so_far.bytes_sent + times * sending.bytes_sent,
        seconds=so_far.seconds + times * sending.seconds,
        latency_bound_runs=so_far.latency_bound_runs + times * sending.is_latency_bound,
    )
