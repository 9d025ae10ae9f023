"""The time when each op of a local program runs on a machine, without overlap.

The runs of an op in a loop are scheduled as one interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.cost.collectives import CollectiveKind, bytes_sent, groups_of
from sdy.cost.executions import Visit, visits
from sdy.cost.hardware import Hardware
from sdy.cost.kernels.work import Work, work_of
from sdy.cost.machine_layout import MachineLayout
from sdy.cost.roofline import NO_TIME, OpTime, op_time
from sdy.cost.traffic import group_size, kind_of, result_bytes
from sdy.dialects.stablehlo.calls import moves_to_other_memory
from sdy.dialects.tensor_bytes import tensor_bytes
from sdy.model.axis import AxisList
from sdy.model.mesh import Mesh


@dataclass(frozen=True, slots=True)
class CollectiveRun:
    """The cost of one run of a collective: its mesh axes, the bytes that each device sends, and the seconds."""

    kind: CollectiveKind
    axes: AxisList
    bytes_sent: float
    seconds: float
    is_latency_bound: bool
    devices: int = 1  # of a group


@dataclass(frozen=True, slots=True)
class HostTransfer:
    """The cost of one transfer between the memories of device and host: its bytes, and the seconds."""

    bytes_sent: float
    seconds: float


@dataclass(frozen=True, slots=True)
class ScheduledOp:
    """An op of the schedule. `work` is the cost of one run; `start` is when its first run begins, in seconds.

    `reads` and `results` are the numbers of its values (`sdy.cost.kernels.value_flow`), `carried` those that change in
    each iteration of the loop that the op is.
    """

    visit: Visit
    start: float
    work: OpTime | CollectiveRun | HostTransfer
    reads: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    carried: tuple[int, ...] = ()

    @property
    def seconds(self) -> float:
        """The seconds of all runs."""
        return 0.0 if self.visit.is_left else self.visit.times * self.work.seconds

    @property
    def end(self) -> float:
        """The time when its last run ends."""
        return self.start + self.seconds


def schedule_of(local: ModuleOp, mesh: Mesh, hardware: Hardware) -> Iterator[ScheduledOp]:
    """Yield the ops of a local program on the devices of `mesh`, in program order, one after another.

    An op with inner ops takes no time itself, and is yielded before and after them.
    Raises: SdyError SDY-T210 if a collective refers to a device that is not in the mesh.
    """
    costs = _OpCosts(mesh, hardware)
    now = 0.0
    works = work_of(local, hardware.kernels)
    for visit, found in zip(visits(local), works, strict=True):
        if found is None:
            scheduled = ScheduledOp(visit, now, costs.of(visit.op, None))
        else:
            step, work = found
            scheduled = ScheduledOp(visit, now, costs.of(visit.op, work), step.operands, step.results, step.carried)
        yield scheduled
        now = scheduled.end


class _OpCosts:
    """A cache of the cost of one run of each op."""

    def __init__(self, mesh: Mesh, hardware: Hardware) -> None:
        self._mesh = mesh
        self._hardware = hardware
        self._layout = MachineLayout(mesh, hardware.network)
        self._known: dict[tuple[Operation, Work | None], OpTime | CollectiveRun | HostTransfer] = {}

    def of(self, op: Operation, work: Work | None) -> OpTime | CollectiveRun | HostTransfer:
        """Return the cost of an op; of one without work, only if it is a collective."""
        key = op, work
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._compute(op, work)
        return found

    def _compute(self, op: Operation, work: Work | None) -> OpTime | CollectiveRun | HostTransfer:
        kind = kind_of(op)
        if kind is not None:
            return self._collective_run(op, kind)
        if work is None:
            return NO_TIME
        if self._hardware.host_bandwidth and moves_to_other_memory(op):
            size = tensor_bytes(op.results[0].type)
            return HostTransfer(size, size / self._hardware.host_bandwidth)
        return op_time(op, self._hardware, work)

    def _collective_run(self, op: Operation, kind: CollectiveKind) -> CollectiveRun:
        groups = groups_of(op, self._mesh)
        total = result_bytes(op)
        time = self._layout.time_of(kind, total, groups)
        size = group_size(op)
        sent = bytes_sent(kind, size, total)
        return CollectiveRun(kind, self._layout.axes_of(groups), sent, time.seconds, time.is_latency_bound, size)
