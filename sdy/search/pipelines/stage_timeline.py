"""The timeline of a pipeline of stages: when each mesh works on which microbatch, and what it holds meanwhile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from sdy.compile.pipeline_cost import PipelineCost, PipelineSlot, cost_of_slots, memory_curve
from sdy.cost.hardware import Hardware
from sdy.cost.timeline import Message, Task, TaskRun, list_schedule, seconds_of_messages
from sdy.mpmd.schedules.builtin import TOTAL_ORDERS, Unit, splits_backward
from sdy.search.pipelines.layer_costs import LayerCost

# The schedules that are compared, with the numbers of stages of each mesh.
SCHEDULES = {
    "GPipe": (1,),
    "1F1B": (1,),
    "ZB-H1": (1,),
    "ZB-H2": (1,),
    "Interleaved1F1B": (2, 4, 8),
    "DualPipeV": (2,),
}


@dataclass(frozen=True)
class Stage:
    """The layers of a stage, the first to the last, and the mesh that they run on.

    With `remat`, the backward phase computes the forward phase again, so that only the input is kept in between.
    """

    layers: tuple[LayerCost, ...]
    mesh: int
    remat: bool = False

    @cached_property
    def forward(self) -> float:
        """The seconds of the forward phase."""
        return sum(each.forward.seconds for each in self.layers)

    @cached_property
    def backward(self) -> float:
        """The seconds of the backward phase."""
        return sum(each.backward.seconds for each in self.layers) + self.forward * self.remat

    @cached_property
    def input_gradients(self) -> float:
        """The seconds of the part of the backward phase that the stage before waits for."""
        return sum(each.input_gradients.seconds for each in self.layers) + self.forward * self.remat

    @cached_property
    def kept(self) -> int:
        """The bytes that the backward phase needs of the forward phase, beside the input of the stage."""
        return sum(each.kept for each in self.layers) + sum(sum(each.sent) for each in self.layers[:-1])

    @cached_property
    def scratch(self) -> int:
        """The bytes that a run of a phase needs at least for a time."""
        return max(phase.scratch for each in self.layers for phase in (each.forward, each.backward))


class Work(NamedTuple):
    """A task: the phase of a stage for a microbatch, or a transfer of its result.

    `kind` is `F` for forward, `A` for backward or, of a phase that is split, the part that is transferred, `W` for the
    other part, `U` for the update, `TF` and `TA` for transfers of what `F` and `A` compute.
    """

    kind: str
    stage: int
    microbatch: int = 0


@dataclass(slots=True)
class StageTimeline:
    """A pipeline on `meshes` of `devices` each: its stages in order, with `microbatches` in a schedule.

    `runs` says when each of `works` runs, and `seconds` is the time of a step.
    Raises: SdyError SDY-M010 if the schedule does not fit the stages.
    """

    stages: Sequence[Stage]
    meshes: int
    devices: int
    microbatches: int
    schedule: str
    hardware: Hardware
    trains: bool
    works: list[Work] = field(init=False)
    runs: list[TaskRun] = field(init=False)
    seconds: float = field(init=False)
    _links: dict[tuple[str, int], float] = field(init=False)

    def __post_init__(self) -> None:
        self.works = [work for mesh in range(self.meshes) for work in self._works_of(mesh)]
        self._links = {}
        for stage in range(len(self.stages)):
            for kind, target in (("F", stage + 1), ("A", stage - 1)):
                if self._is_transfer(kind, stage, target):
                    self._links[kind, stage] = self._transfer_seconds(kind, stage, target)
                    self.works += [Work("T" + kind, stage, number) for number in range(self.microbatches)]
        numbers = {work: number for number, work in enumerate(self.works)}
        self.runs = list_schedule([self._task(work, numbers) for work in self.works])
        self.seconds = max(run.end for run in self.runs)

    @property
    def peak_bytes(self) -> list[int]:
        """The most bytes that are alive on a device of each mesh."""
        return [max(count for _, count in memory_curve(self._held(mesh))) for mesh in range(self.meshes)]

    def cost(self) -> PipelineCost:
        """Return the times and the memory as those of a program of several meshes."""
        slots = [self._slot(work, run) for work, run in zip(self.works, self.runs, strict=True)]
        for number, run in enumerate(self.runs):
            if run.waited_for is not None:
                cause = slots[run.waited_for]
                slots[number] = replace(slots[number], waits_for=f"{cause.label} on {cause.place}")
        memory = {f"m{mesh}": memory_curve(self._held(mesh)) for mesh in range(self.meshes)}
        between: dict[tuple[str, str], int] = defaultdict(int)
        for kind, stage in self._links:
            source, target = self._ends(kind, stage)
            between[source, target] += sum(self._sizes(kind, stage)) * self.devices * self.microbatches
        return cost_of_slots(self.hardware.name, slots, self.runs, memory, dict(between))

    def _works_of(self, mesh: int) -> Iterator[Work]:
        """Yield the work of a mesh in the order of the schedule, with the updates at the end."""
        own = [number for number, stage in enumerate(self.stages) if stage.mesh == mesh]
        units = [
            Unit(f"m{mesh}", mesh, counter, kind != "F", kind == "W", stage)
            for stage in own
            for counter in range(self.microbatches)
            for kind in self._kinds(stage)
        ]
        for unit in _ordered(self.schedule, units, self.meshes):
            kind = "W" if unit.is_weight_gradient else "A" if unit.is_backward else "F"
            yield Work(kind, unit.stage or 0, unit.counter)
        if self.trains:
            yield from (Work("U", stage) for stage in own)

    def _kinds(self, stage: int) -> str:
        return ("FAW" if self._is_split(stage) else "FA") if self.trains else "F"

    def _is_split(self, stage: int) -> bool:
        """Return whether the backward phase of a stage is split: nothing waits for that of the first stage."""
        return splits_backward(self.schedule) and stage > 0

    def _is_transfer(self, kind: str, stage: int, target: int) -> bool:
        is_there = 0 <= target < len(self.stages) and (kind == "F" or self.trains)
        return is_there and self.stages[stage].mesh != self.stages[target].mesh

    def _transfer_seconds(self, kind: str, stage: int, target: int) -> float:
        """Return the seconds of all values of a transfer, one after the other, to the same devices of another mesh."""
        start, end = self.devices * self.stages[stage].mesh, self.devices * self.stages[target].mesh
        return sum(
            seconds_of_messages(
                (Message(start + device, end + device, size) for device in range(self.devices)), self.hardware.network
            )
            for size in self._sizes(kind, stage)
        )

    def _sizes(self, kind: str, stage: int) -> tuple[int, ...]:
        """Return the bytes of what each device sends of a stage."""
        layers = self.stages[stage].layers
        return layers[-1].sent if kind == "F" else layers[0].sent_back

    def _ends(self, kind: str, stage: int) -> tuple[str, str]:
        return self._mesh(stage), self._mesh(stage + 1 if kind == "F" else stage - 1)

    def _task(self, work: Work, numbers: dict[Work, int]) -> Task:
        kind, stage, microbatch = work
        if kind.startswith("T"):
            needs = (numbers[Work(kind[1:], stage, microbatch)],)
            return Task(self._place(work), self._links[kind[1:], stage], needs, is_in_order=False)
        needed = {"F": [("F", stage - 1)], "A": [("F", stage), ("A", stage + 1)], "W": [("A", stage)], "U": []}[kind]
        needs = tuple(
            numbers[Work("T" + each if (each, at) in self._links and at != stage else each, at, microbatch)]
            for each, at in needed
            if 0 <= at < len(self.stages)
        )
        return Task(self._mesh(stage), self._seconds(kind, stage), needs)

    def _seconds(self, kind: str, number: int) -> float:
        stage = self.stages[number]
        match kind:
            case "F":
                return stage.forward
            case "A":
                return stage.input_gradients if self._is_split(number) else stage.backward
            case "W":
                return max(0.0, stage.backward - stage.input_gradients)
            case _:
                return sum(each.update.seconds for each in stage.layers)

    def _held(self, mesh: int) -> Iterator[tuple[float, float, int]]:
        """Yield what a device of a mesh holds: from when, to when, and how many bytes."""
        at = dict(zip(self.works, self.runs, strict=True))
        for number, stage in enumerate(self.stages):
            if stage.mesh != mesh:
                continue
            gradients = sum(each.gradients for each in stage.layers)
            yield 0.0, self.seconds, sum(each.held for each in stage.layers) + gradients
            yield 0.0, self.seconds, self.microbatches * sum(each.batch for each in stage.layers)
            for microbatch in range(self.microbatches):
                yield from self._held_of(number, microbatch, at, gradients)

    def _held_of(
        self, number: int, microbatch: int, at: dict[Work, TaskRun], gradients: int
    ) -> Iterator[tuple[float, float, int]]:
        """Yield what a stage holds because of a microbatch: scratch, what is kept, received and sent."""
        stage, forward = self.stages[number], at[Work("F", number, microbatch)]
        first = at.get(Work("A", number, microbatch), forward)
        last = at.get(Work("W", number, microbatch), first)
        yield forward.start, forward.end, stage.scratch + (stage.kept if stage.remat else 0)
        received = sum(self._sizes("F", number - 1)) if number else 0
        arrival = at.get(Work("TF", number - 1, microbatch), forward)
        yield min(arrival.start, forward.start), last.end, received
        if self.trains:
            yield first.start, first.end, stage.scratch + gradients * (last is first)
            yield last.start, last.end, (stage.scratch + gradients) * (last is not first)  # sums before and after
            yield (first if stage.remat else forward).start, last.end, stage.kept
        for kind, start in (("F", forward), ("A", first)):
            if (kind, number) in self._links:
                yield start.start, at[Work("T" + kind, number, microbatch)].end, sum(self._sizes(kind, number))
        if ("A", number + 1) in self._links:
            arrival = at[Work("TA", number + 1, microbatch)]
            yield arrival.start, last.end, sum(self._sizes("A", number + 1))

    def _slot(self, work: Work, run: TaskRun) -> PipelineSlot:
        """Return what a run is, without what it waits for."""
        is_update, is_whole = work.kind == "U", work.kind == "A" and not self._is_split(work.stage)
        kind = "-" if is_update else "B" if is_whole else work.kind[0]
        name = "transfer" if kind == "T" else f"stage{work.stage}"
        microbatch = None if is_update else work.microbatch
        return PipelineSlot(self._place(work), kind, name, microbatch, work.stage, run.start, run.end, "")

    def _place(self, work: Work) -> str:
        """Return the mesh of work, or the link of a transfer."""
        return " to ".join(self._ends(work.kind[1:], work.stage)) if work.kind[1:] else self._mesh(work.stage)

    def _mesh(self, stage: int) -> str:
        return f"m{self.stages[stage].mesh}"


def _ordered(schedule: str, units: Sequence[Unit], meshes: int) -> list[Unit]:
    """Return the units of a mesh in the order of a schedule."""
    if schedule == "GPipe":
        return sorted(units, key=lambda unit: (unit.is_backward, unit.counter))
    # 1F1B is the interleaved schedule of one stage on each mesh.
    return TOTAL_ORDERS["Interleaved1F1B" if schedule == "1F1B" else schedule].ordered(units, meshes)
