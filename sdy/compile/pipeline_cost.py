"""The time and memory of a program of several meshes: its fragments and transfers, scheduled on a machine.

Each mesh runs its fragments in program order. A transfer runs beside them, as soon as its value is there and the link
from its mesh to the other one is free. Source: docs/spec/08, 5.4 and 5.5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, pairwise
from math import prod

from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from sdy.compile.pipeline import CompiledPipeline
from sdy.cost.hardware import Hardware
from sdy.cost.quantities import seconds_text
from sdy.cost.timeline import Message, Task, TaskRun, critical_path, idle_seconds, list_schedule, seconds_of_messages
from sdy.dialects.facts.traits import terminator_of
from sdy.dialects.ir.symbols import main_block, main_function
from sdy.dialects.sharded_types import element_bytes, tensor_bytes
from sdy.model.shape import local_shape
from sdy.mpmd.dialect.ops import FragmentCallOp, TransferOp
from sdy.mpmd.dialect.types import mesh_type
from sdy.mpmd.passes.export.memory import is_donated
from sdy.mpmd.schedules.fragment_info import FragmentInfo, SplitType

SecondsOf = Callable[[FragmentInfo], float]
MemoryCurve = tuple[tuple[float, int], ...]  # times, and the bytes alive from then on


@dataclass(frozen=True, slots=True)
class PipelineSlot:
    """A run of a fragment on a mesh, or of a transfer on the link between two. Times are in seconds.

    `kind` is `F` for forward and `B` for backward, `A` and `W` for the parts of a split backward fragment (`A` is what
    is transferred), `T` for a transfer and `-` for other fragments. `waits_for` says what determined the start.
    """

    place: str
    kind: str
    name: str
    microbatch: int | None
    stage: int | None
    start: float
    end: float
    waits_for: str

    @property
    def label(self) -> str:
        """A short name: `F3` is the forward fragment of microbatch 3."""
        return self.kind + ("" if self.microbatch is None else str(self.microbatch))


@dataclass(frozen=True, slots=True)
class MeshCost:
    """The work of a mesh. `bubble` are the seconds in which it waits between its first and its last fragment.

    `waits_for_transfers` is the part of the bubble in which a transfer to it is under way. `memory` has the bytes alive
    on each of its devices from a time on, and `peak_bytes` is the most of them.
    """

    name: str
    fragments: int
    busy: float
    bubble: float
    waits_for_transfers: float
    peak_bytes: int
    memory: MemoryCurve


@dataclass(frozen=True, slots=True)
class PipelineCost:
    """The cost of a program of several meshes. Seconds are those of one run of the program.

    `bytes_between` has the bytes that cross from one mesh to another. `path` names the fragments and transfers that
    determine the time, the first one first.
    """

    machine: str
    seconds: float
    slots: tuple[PipelineSlot, ...]
    meshes: tuple[MeshCost, ...]
    bytes_between: dict[tuple[str, str], int]
    path: tuple[str, ...]

    @property
    def bubble(self) -> float:
        """The longest time that a mesh waits between its first and its last fragment."""
        return max((mesh.bubble for mesh in self.meshes), default=0.0)

    @property
    def bubble_share(self) -> float:
        """The part of the time in which the busiest mesh does nothing."""
        busiest = max((mesh.busy for mesh in self.meshes), default=0.0)
        return 1 - busiest / self.seconds if self.seconds else 0.0

    @property
    def peak_bytes(self) -> int:
        """The most bytes that are alive on a device."""
        return max((mesh.peak_bytes for mesh in self.meshes), default=0)

    def __repr__(self) -> str:
        """Return one line with the time, the bubble and the peak memory."""
        numbers = f"{seconds_text(self.seconds)}, bubble {self.bubble_share:.1%}, {self.peak_bytes:,} peak bytes"
        return f"PipelineCost({self.machine}: {numbers})"

    def to_json(self) -> dict[str, object]:
        """Return the cost as plain data."""
        slots = [{**asdict(slot), "label": slot.label} for slot in self.slots]
        numbers = {"bubble": self.bubble, "bubble_share": self.bubble_share, "peak_bytes": self.peak_bytes}
        between = [{"source": pair[0], "target": pair[1], "bytes": count} for pair, count in self.bytes_between.items()]
        return {**asdict(self), **numbers, "slots": slots, "bytes_between": between}


def pipeline_cost(
    program: CompiledPipeline,
    hardware: Hardware | None,
    seconds_of: SecondsOf | None = None,
    transfer_seconds: float | None = None,
) -> PipelineCost:
    """Return when each fragment and transfer of a program runs on a machine, and what is alive on each mesh.

    `seconds_of` gives the time of a fragment, and `transfer_seconds` that of each transfer, in place of the machine;
    with both, no machine is needed.
    """
    return _Simulation(program, hardware, seconds_of, transfer_seconds).cost()


class _Simulation:
    def __init__(
        self,
        program: CompiledPipeline,
        hardware: Hardware | None,
        seconds_of: SecondsOf | None,
        transfer_seconds: float | None,
    ) -> None:
        self._program, self._hardware = program, hardware
        self._seconds_of, self._transfer_seconds = seconds_of, transfer_seconds
        self._block = main_block(program.folded)
        self._ops = [op for op in self._block.ops if isinstance(op, FragmentCallOp | TransferOp)]
        self._numbers: dict[Operation, int] = {op: number for number, op in enumerate(self._ops)}
        used = {call.callee_name for call in program.runs}
        costs = {} if hardware is None else {name: program.fragments[name].cost(hardware) for name in used}
        self._fragment_seconds = {name: cost.seconds for name, cost in costs.items()}
        self._scratch = {name: self._scratch_bytes(name, cost.peak_bytes) for name, cost in costs.items()}
        self._runs = list_schedule([self._task(op) for op in self._ops])

    def cost(self) -> PipelineCost:
        slots = tuple(map(self._slot, self._ops, self._runs))
        names = [named.name for named in self._program.layout.topology.data]
        memory = {name: self._memory(name) for name in names if any(slot.place == name for slot in slots)}
        between: dict[tuple[str, str], int] = defaultdict(int)
        for op in self._ops:
            if isinstance(op, TransferOp):
                sent = sum(round(each.bytes) for each in self._messages(op) if each.source != each.target)
                between[op.source_type.mesh, op.target_type.mesh] += sent
        machine = "given times" if self._hardware is None else self._hardware.name
        return cost_of_slots(machine, slots, self._runs, memory, dict(between))

    def _task(self, op: FragmentCallOp | TransferOp) -> Task:
        owners = (each.owner for each in op.operands)
        needs = tuple(
            self._numbers[owner] for owner in owners if isinstance(owner, Operation) and owner in self._numbers
        )
        if isinstance(op, TransferOp):
            return Task(_link_name(op), self._seconds_of_transfer(op), needs, is_in_order=False)
        if self._seconds_of is not None:
            return Task(op.mesh, self._seconds_of(self._program.runs[op]), needs)
        return Task(op.mesh, self._fragment_seconds[op.callee_name], needs)

    def _seconds_of_transfer(self, op: TransferOp) -> float:
        if self._transfer_seconds is not None:
            return self._transfer_seconds
        assert self._hardware is not None
        if op.source_type.mesh == op.target_type.mesh and op.source_type.memory_kind != op.target_type.memory_kind:
            bandwidth = self._hardware.host_bandwidth
            return self._bytes(op.result) / bandwidth if bandwidth else 0.0
        return seconds_of_messages(self._messages(op), self._hardware.network)

    def _messages(self, op: TransferOp) -> Iterator[Message]:
        layout = self._program.layout
        if layout.keeps_positions(op):
            pairs = zip(layout.devices[op.source_type.mesh], layout.devices[op.target_type.mesh], strict=True)
            return (Message(source, target, self._bytes(op.result)) for source, target in pairs)
        size = element_bytes(op.source_type.get_element_type())
        return (Message(each.source, each.target, size * each.elements) for each in layout.plan(op).sends)

    def _bytes(self, value: SSAValue) -> int:
        """Return the bytes of a value on one device."""
        placement = self._program.layout.placement(value)
        sizes = local_shape(placement.shape, placement.sharding, placement.mesh) or ()
        return prod(size or 0 for size in sizes) * element_bytes(mesh_type(value.type).get_element_type())

    def _scratch_bytes(self, name: str, peak: int) -> int:
        """Return the bytes that a fragment needs beside its operands and results."""
        main = main_function(self._program.fragments[name].local).function_type
        types: Sequence[Attribute] = (*main.inputs, *main.outputs)
        return max(0, peak - sum(map(tensor_bytes, types)))

    def _slot(self, op: FragmentCallOp | TransferOp, run: TaskRun) -> PipelineSlot:
        waits_for = "" if run.waited_for is None else self._waiting_text(op, self._ops[run.waited_for])
        if isinstance(op, TransferOp):
            producer = op.tensor.owner
            number = self._program.runs[producer].call_counter if isinstance(producer, FragmentCallOp) else None
            return PipelineSlot(_link_name(op), "T", "transfer", number, None, run.start, run.end, waits_for)
        info = self._program.runs[op]
        kind, counter, stage = kind_of(info), info.call_counter, info.stage
        return PipelineSlot(op.mesh, kind, op.callee_name, counter, stage, run.start, run.end, waits_for)

    def _waiting_text(self, op: FragmentCallOp | TransferOp, other: FragmentCallOp | TransferOp) -> str:
        if isinstance(other, TransferOp):
            return f"the transfer {_link_name(other)}"
        info = self._program.runs[other]
        counter = "" if info.call_counter is None else str(info.call_counter)
        is_data = any(operand.owner is other for operand in op.operands)
        return f"{'the result of ' if is_data else ''}{kind_of(info)}{counter} on {other.mesh}"

    def _memory(self, name: str) -> MemoryCurve:
        """Return the bytes alive on a device of a mesh, from each time on at which they change."""
        held: list[tuple[float, float, int]] = []
        for value in (*self._block.args, *(result for op in self._ops for result in op.results)):
            found = mesh_type(value.type)
            if found.mesh == name and not found.is_on_host:
                held.append((*self._lifetime(value), self._bytes(value)))
        for op, run in zip(self._ops, self._runs, strict=True):
            if isinstance(op, FragmentCallOp) and op.mesh == name:
                held.append((run.start, run.end, self._scratch.get(op.callee_name, 0)))
        return memory_curve(held)

    def _lifetime(self, value: SSAValue) -> tuple[float, float]:
        """Return from when to when a value is alive: to the end if it is returned, or an argument that stays."""
        end = max((run.end for run in self._runs), default=0.0)
        users = [self._numbers[use.operation] for use in value.uses if use.operation in self._numbers]
        is_returned = value in terminator_of(main_function(self._program.folded).body).operands
        last = max((self._runs[number].end for number in users), default=0.0)
        if isinstance(value, BlockArgument):
            stays = is_returned or not is_donated(value)
            return 0.0, end if stays else last
        assert isinstance(value.owner, Operation)
        run = self._runs[self._numbers[value.owner]]
        return run.start, end if is_returned else max(run.end, last)


def memory_curve(held: Iterable[tuple[float, float, int]]) -> MemoryCurve:
    """Return the bytes alive from each time on at which they change, for starts, ends and bytes of what is held."""
    changes: dict[float, int] = defaultdict(int)
    for start, end, size in held:
        changes[start] += size
        changes[end] -= size
    times = sorted(changes)
    return tuple(zip(times, accumulate(changes[time] for time in times), strict=True))


def cost_of_slots(
    machine: str,
    slots: Sequence[PipelineSlot],
    runs: Sequence[TaskRun],
    memory: Mapping[str, MemoryCurve],
    bytes_between: dict[tuple[str, str], int],
) -> PipelineCost:
    """Return the cost of a pipeline whose slots are `runs`; `memory` has the bytes alive on each mesh."""
    meshes: list[MeshCost] = []
    for name, curve in memory.items():
        own = [run for slot, run in zip(slots, runs, strict=True) if slot.place == name]
        waiting = 0.0
        for before, after in pairwise(own):
            cause = after.waited_for
            if after.start > before.end and cause is not None and slots[cause].kind == "T":
                waiting += after.start - max(before.end, runs[cause].start)
        busy, peak = sum(run.end - run.start for run in own), max((count for _, count in curve), default=0)
        meshes.append(MeshCost(name, len(own), busy, idle_seconds(own), waiting, peak, curve))
    path = tuple(f"{slots[number].label} on {slots[number].place}" for number in critical_path(runs))
    end = max((run.end for run in runs), default=0.0)
    return PipelineCost(machine, end, tuple(slots), tuple(meshes), bytes_between, path)


def kind_of(info: FragmentInfo) -> str:
    """Return the kind of a fragment: see `PipelineSlot`."""
    counts = {origin.transpose_count for origin in info.origins}
    if counts == {0}:
        return "F"
    if counts != {1}:
        return "-"
    return {SplitType.KEEP: "A", SplitType.DROP: "W", None: "B"}[info.split_type]


def _link_name(op: TransferOp) -> str:
    return f"{op.source_type.mesh} to {op.target_type.mesh}"
