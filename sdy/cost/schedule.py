"""The time when each op of a local program runs on a machine, without overlap, and as compilers schedule collectives.

The runs of an op in a loop are scheduled as one interval.

With overlap, a collective starts when its operands are ready and the links of its axes are free; ops run in program
order, each when the collectives that it reads have ended. What a collective reads is computed early, unless that takes
a product. All collectives that start in an iteration of a loop end in it, unless the compiler pipelines or unrolls
loops: then they may end in a later one, as transfers to the host always may.

Some compilers decompose a product and the all-gather of its operand, or the reduce-scatter of its result, into parts,
so that the parts of one run beside those of the other. Source: Wang et al., "Overlap communication with dependent
computation via decomposition in large deep learning models", ASPLOS 2023.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from sdy.cost.collectives import CollectiveKind, bytes_sent, group_table, groups_of
from sdy.cost.executions import Visit, runs_of_regions, visits
from sdy.cost.hardware import Hardware, Kernels
from sdy.cost.kernels.work import Work, work_of
from sdy.cost.machine_layout import MachineLayout
from sdy.cost.roofline import NO_TIME, OpTime, op_time
from sdy.cost.traffic import group_size, kind_of, result_bytes
from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.sharded_types import tensor_bytes
from sdy.dialects.stablehlo.calls import moves_to_other_memory
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


class Schedule(NamedTuple):
    """The ops of a program with their times, and the values that kernels of flash attention do not store."""

    ops: list[ScheduledOp]
    in_attention: frozenset[SSAValue]

    @property
    def seconds(self) -> float:
        """The seconds of all ops, one after another."""
        return self.ops[-1].end if self.ops else 0.0


def schedule_of(local: ModuleOp, mesh: Mesh, hardware: Hardware) -> Schedule:
    """Return the ops of a local program on the devices of `mesh`, in program order, one after another.

    An op with inner ops takes no time itself, and is there before and after them.
    Raises: SdyError SDY-T210 if a collective refers to a device that is not in the mesh.
    """
    costs = _OpCosts(mesh, hardware)
    ops: list[ScheduledOp] = []
    now = 0.0
    works = work_of(local, hardware.kernels)
    for visit, found in zip(visits(local), works.visits, strict=True):
        if found is None:
            scheduled = ScheduledOp(visit, now, costs.of(visit.op, None))
        else:
            step, work = found
            scheduled = ScheduledOp(visit, now, costs.of(visit.op, work), step.operands, step.results, step.carried)
        ops.append(scheduled)
        now = scheduled.end
    return Schedule(ops, works.in_attention)


class _OpCosts:
    """The cost of one run of each op. Collectives of the same kind and size among the same groups are priced once."""

    def __init__(self, mesh: Mesh, hardware: Hardware) -> None:
        self._mesh = mesh
        self._hardware = hardware
        self._layout = MachineLayout(mesh, hardware.network)
        self._collectives: dict[tuple[CollectiveKind, float, DenseElementsAttr | None], CollectiveRun] = {}

    def of(self, op: Operation, work: Work | None) -> OpTime | CollectiveRun | HostTransfer:
        """Return the cost of an op; of one without work, only if it is a collective."""
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
        total, size = result_bytes(op), group_size(op)
        key = kind, total, group_table(op)
        if key not in self._collectives:
            groups = groups_of(op, self._mesh)
            time, axes = self._layout.time_of(kind, total, groups), self._layout.axes_of(groups)
            sent = bytes_sent(kind, size, total)
            self._collectives[key] = CollectiveRun(kind, axes, sent, time.seconds, time.is_latency_bound, size)
        return self._collectives[key]


SIMULATED_ITERATIONS = 3
Resource = str  # the name of a mesh axis, or HOST
HOST = "\0host"


class Overlap(Enum):
    """The overlap of collectives with ops: none, that of a schedule of a compiler, or a perfect one."""

    NONE = "none"
    COMPILER = "compiler"
    PERFECT = "perfect"


def overlapped_seconds(schedule: Sequence[ScheduledOp], kernels: Kernels) -> float:
    """Return the time of all ops of a schedule, with collectives beside them."""
    clock = _Clock(schedule, kernels.pipelines_loops or kernels.unrolls_loops, kernels.decomposes_products)
    clock.run(0, len(schedule))
    return clock.end


@dataclass
class _Clock:
    """The time when ops, each link, and each value are ready."""

    schedule: Sequence[ScheduledOp]
    pipelines_loops: bool
    decomposes_products: bool
    now: float = 0.0  # when the last op ends
    floor: float = 0.0  # before which no collective starts
    links: dict[Resource, float] = field(default_factory=dict[Resource, float])
    ready: dict[int, float] = field(default_factory=dict[int, float])  # by value, if an op has to wait for it
    # By value, when the first part is ready and the seconds of the last one, if a gather or a product is decomposed.
    gathered: dict[int, tuple[float, float]] = field(default_factory=dict[int, tuple[float, float]])
    multiplied: dict[int, tuple[float, float]] = field(default_factory=dict[int, tuple[float, float]])

    @property
    def end(self) -> float:
        """When everything has ended."""
        return max((self.now, *self.links.values()))

    def _ends_of_links(self) -> list[float]:
        return [time for name, time in self.links.items() if name != HOST]

    def run(self, start: int, stop: int) -> None:
        """Run the ops of a part of the schedule once."""
        index = start
        while index < stop:
            visit = self.schedule[index].visit
            times = runs_of_regions(visit.op) if visit.op.regions and not visit.is_left else 1
            if times == 1:
                self._run_op(self.schedule[index])
                index += 1
            else:
                last = self._end_of(index, stop)
                self._run_loop(index + 1, last, times)
                index = last + 1

    def _end_of(self, index: int, stop: int) -> int:
        op = self.schedule[index].visit.op
        return next(at for at in range(index + 1, stop) if self.schedule[at].visit.op is op)

    def _run_loop(self, start: int, stop: int, times: int) -> None:
        """Run a loop: a few iterations, until each takes as long as the one before."""
        carried = self.schedule[start - 1].carried
        self.now = self.floor = self.end
        marks = [self.now]
        for _ in range(min(times, SIMULATED_ITERATIONS)):
            self.ready.update(dict.fromkeys(carried, self.now))
            self.run(start, stop)
            if not self.pipelines_loops:
                self.now = self.floor = max((self.now, *self._ends_of_links()))
            marks.append(self.end)
        self.now = self.end + (times - len(marks) + 1) * (marks[-1] - marks[-2] if len(marks) > 1 else 0.0)
        self.floor = self.now

    def _run_op(self, scheduled: ScheduledOp) -> None:
        if scheduled.visit.is_left:
            return
        match scheduled.work:
            case CollectiveRun() | HostTransfer() as moved:
                self._run_transfer(scheduled, moved)
            case OpTime() as time if time.compute_seconds:
                self._run_product(scheduled)
            case _:
                waits, seconds = self._waits(scheduled.reads), scheduled.work.seconds
                self.now = (max(self.now, waits) if seconds else self.now) + seconds
                if waits:
                    self.ready.update(dict.fromkeys(scheduled.results, waits + seconds))

    def _waits(self, values: Iterable[int]) -> float:
        return max((self.ready.get(value, 0.0) for value in values), default=0.0)

    def _run_transfer(self, scheduled: ScheduledOp, moved: CollectiveRun | HostTransfer) -> None:
        """Run a transfer when the links are free; the reduction of a decomposed product, part by part."""
        seconds, waits, last = moved.seconds, self._waits(scheduled.reads), 0.0
        collective = moved if isinstance(moved, CollectiveRun) else None
        resources = [axis.name for axis in collective.axes] if collective else [HOST]
        kind, parts = (collective.kind, collective.devices) if collective and self.decomposes_products else (None, 1)
        if kind is CollectiveKind.REDUCE_SCATTER and scheduled.reads[0] in self.multiplied:
            began, product = self.multiplied[scheduled.reads[0]]
            waits, last = began + product / parts, waits + seconds / parts
        start = max((waits, self.floor if collective else 0.0, *(self.links.get(each, 0.0) for each in resources)))
        end = max(start + seconds, last)
        self.links.update(dict.fromkeys(resources, end))
        self.ready.update(dict.fromkeys(scheduled.results, end))
        if kind is CollectiveKind.ALL_GATHER:
            self.gathered[scheduled.results[0]] = start + seconds / parts, 1 / parts

    def _run_product(self, scheduled: ScheduledOp) -> None:
        """Run a product when its operands are ready; beside their gathers, if it is decomposed."""
        seconds = scheduled.work.seconds
        parts = [self.gathered[value] for value in scheduled.reads if value in self.gathered]
        began = max((self.now, self._waits(value for value in scheduled.reads if value not in self.gathered)))
        began = max((began, *(first for first, _ in parts)))
        last = max((share * seconds for _, share in parts), default=0.0)
        self.now = max(began + seconds, self._waits(scheduled.reads) + last)
        self.ready.update(dict.fromkeys(scheduled.results, self.now))
        self.multiplied.update(dict.fromkeys(scheduled.results, (began, seconds)))
