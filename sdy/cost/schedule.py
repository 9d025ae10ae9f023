"""When each op of a local program runs on a machine, where nothing happens in the meantime.

The runs of an op in a loop are put together: each trip takes its share of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.cost.collectives import CollectiveKind, bytes_sent
from sdy.cost.device_groups import groups_of
from sdy.cost.executions import Visit, visits
from sdy.cost.hardware import Hardware
from sdy.cost.machine_layout import MachineLayout
from sdy.cost.roofline import OPS_WITH_TIMED_BODIES, OpTime, op_time
from sdy.cost.tensor_bytes import tensor_bytes
from sdy.cost.traffic import COLLECTIVE_KINDS, group_size
from sdy.model.axis import AxisList
from sdy.model.mesh import Mesh


@dataclass(frozen=True, slots=True)
class CollectiveRun:
    """One run of a collective: along which axes of the mesh, what each device sends, and how long that takes."""

    kind: CollectiveKind
    axes: AxisList
    bytes_sent: float
    seconds: float
    is_latency_bound: bool


@dataclass(frozen=True, slots=True)
class ScheduledOp:
    """An op of the schedule. `work` is one run of it; `start` is when its first run begins."""

    visit: Visit
    start: float
    work: OpTime | CollectiveRun

    @property
    def seconds(self) -> float:
        """Of all runs."""
        return 0.0 if self.visit.is_left else self.visit.times * self.work.seconds

    @property
    def end(self) -> float:
        """When its last run is over."""
        return self.start + self.seconds


def schedule_of(local: ModuleOp, mesh: Mesh, hardware: Hardware) -> Iterator[ScheduledOp]:
    """Of a local program on the devices of `mesh`: what runs, in program order, one after another.

    An op with ops inside takes no time by itself, and comes before and after them.
    Raises: SdyError SDY-T210 where a collective names a device that the mesh does not have.
    """
    works = _OpCosts(mesh, hardware)
    now = 0.0
    for visit in visits(local):
        slot = ScheduledOp(visit, now, works.of(visit.op))
        yield slot
        now = slot.end


class _OpCosts:
    """What one run of an op takes; asked again where a function is called again."""

    def __init__(self, mesh: Mesh, hardware: Hardware) -> None:
        self._mesh = mesh
        self._hardware = hardware
        self._layout = MachineLayout(mesh, hardware.network)
        self._known: dict[Operation, OpTime | CollectiveRun] = {}

    def of(self, op: Operation) -> OpTime | CollectiveRun:
        if op not in self._known:
            self._known[op] = self._work(op)
        return self._known[op]

    def _work(self, op: Operation) -> OpTime | CollectiveRun:
        kind = COLLECTIVE_KINDS.get(type(op))
        if kind is not None:
            return self._sending(op, kind)
        # The bodies of reductions and the like are part of the op around them.
        return op_time(op, self._hardware) if isinstance(op.parent_op(), OPS_WITH_TIMED_BODIES) else OpTime(0.0, 0.0)

    def _sending(self, op: Operation, kind: CollectiveKind) -> CollectiveRun:
        groups = groups_of(op, self._mesh)
        result_bytes = sum(tensor_bytes(result.type) for result in op.results)
        time = self._layout.time_of(kind, result_bytes, groups)
        sent = bytes_sent(kind, group_size(op), result_bytes)
        return CollectiveRun(kind, self._layout.axes_of(groups), sent, time.seconds, time.is_latency_bound)
