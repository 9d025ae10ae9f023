"""The time when each op of a local program runs on a machine, without overlap.

The runs of an op in a loop are scheduled as one interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from sdy.cost.collectives import CollectiveKind, bytes_sent
from sdy.cost.device_groups import groups_of
from sdy.cost.executions import Visit, visits
from sdy.cost.hardware import Hardware
from sdy.cost.machine_layout import MachineLayout
from sdy.cost.roofline import NO_TIME, OpTime, op_time
from sdy.cost.traffic import group_size, kind_of, result_bytes
from sdy.dialects.stablehlo.control import ControlFlowOp
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


@dataclass(frozen=True, slots=True)
class ScheduledOp:
    """An op of the schedule. `work` is the cost of one run; `start` is when its first run begins, in seconds."""

    visit: Visit
    start: float
    work: OpTime | CollectiveRun

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
    for visit in visits(local):
        scheduled = ScheduledOp(visit, now, costs.of(visit.op))
        yield scheduled
        now = scheduled.end


class _OpCosts:
    """A cache of the cost of one run of each op."""

    def __init__(self, mesh: Mesh, hardware: Hardware) -> None:
        self._mesh = mesh
        self._hardware = hardware
        self._layout = MachineLayout(mesh, hardware.network)
        self._known: dict[Operation, OpTime | CollectiveRun] = {}

    def of(self, op: Operation) -> OpTime | CollectiveRun:
        found = self._known.get(op)
        if found is None:
            found = self._known[op] = self._compute(op)
        return found

    def _compute(self, op: Operation) -> OpTime | CollectiveRun:
        kind = kind_of(op)
        if kind is not None:
            return self._collective_run(op, kind)
        # The bodies of reductions and similar ops are part of the op around them.
        return op_time(op, self._hardware) if isinstance(op.parent_op(), FuncOp | ControlFlowOp) else NO_TIME

    def _collective_run(self, op: Operation, kind: CollectiveKind) -> CollectiveRun:
        groups = groups_of(op, self._mesh)
        total = result_bytes(op)
        time = self._layout.time_of(kind, total, groups)
        sent = bytes_sent(kind, group_size(op), total)
        return CollectiveRun(kind, self._layout.axes_of(groups), sent, time.seconds, time.is_latency_bound)
