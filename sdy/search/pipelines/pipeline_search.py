"""Search for the pipeline of a program: its stages, their mesh and shardings, microbatches, schedule and recomputation.

1. The equal layers of the program are found, and a program of three of them on one microbatch stands for all.
2. The sharding search chooses its shardings on each mesh of a stage; the phases of its layers are priced.
3. Each schedule is simulated for each number of stages and of microbatches, the most promising ones first: with all
   divisions into stages if there are few, or with stages of balanced time, between which layers then move while that is
   better. A mesh that would hold too much recomputes the forward phases of its stages. If the best pipeline needs that,
   or none fits, shardings that need half the memory are tried, and half of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from math import comb, inf
from time import monotonic

from xdsl.dialects.builtin import ModuleOp

from sdy.cost.hardware import Hardware
from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.progress import TimeUpError, note_step, stopping_at
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.symbols import main_function
from sdy.model.mesh import Mesh
from sdy.search.pipelines.equal_layers import EqualLayers, equal_layers
from sdy.search.pipelines.layer_costs import LayerCost, Layout, layer_costs, layout_on, with_shardings_of
from sdy.search.pipelines.one_microbatch import (
    FIRST,
    LAST,
    MIDDLE,
    OneMicrobatch,
    ThreeLayers,
    one_microbatch,
    three_layers,
)
from sdy.search.pipelines.pipeline_request import PipelineRequest
from sdy.search.pipelines.stage_timeline import SCHEDULES, Stage, StageTimeline
from sdy.search.search_end import SearchEnd

SHARE_OF_SHARDINGS = 0.5  # of the time
PRICED_MESHES = 2  # of each number of stages, those with the best shardings
ALL_CUTS = 64  # up to so many divisions into stages, all are tried
MOST_LAYOUTS = 3  # on a mesh, each with half the memory of the one before, while memory is what limits
REFINED = 6  # candidates whose layers move from stage to stage


@dataclass(frozen=True)
class PricedLayers:
    """The costs of the first, a middle and the last layer for a number of microbatches, on the mesh of a layout."""

    layout: Layout
    microbatches: int
    costs: Sequence[LayerCost]
    count: int
    trains: bool

    @property
    def layers(self) -> tuple[LayerCost, ...]:
        """The costs of all layers."""
        return self.costs[FIRST], *[self.costs[MIDDLE]] * (self.count - 2), self.costs[LAST]

    def bound(self, meshes: int) -> float:
        """Return a lower bound of the time on so many meshes, whatever the stages and the schedule.

        All meshes together have this work, and each waits until those before it have computed a layer at least.
        """
        step = sum(each.forward.seconds + each.backward.seconds for each in self.layers)
        work = self.microbatches * step + sum(each.update.seconds for each in self.layers)
        fill = min(each.forward.seconds for each in self.layers) * meshes * (meshes - 1) / 2
        return (work + fill) / meshes


@dataclass(frozen=True)
class PipelineCandidate:
    """A pipeline with its time. `layers` are the numbers of layers of its stages; meshes may be `recomputing`."""

    priced: PricedLayers
    meshes: int
    schedule: str
    layers: tuple[int, ...]
    recomputing: frozenset[int]
    seconds: float = inf
    peak_bytes: tuple[int, ...] = ()

    def rank(self, free_bytes: float) -> tuple[bool, float, int]:
        """Return a key that is smaller for better candidates: what fits in memory comes first.

        Of those that are equal in five digits, it is one with few axes.
        """
        fits = max(self.peak_bytes) <= free_bytes
        size = float(f"{self.seconds:.5g}") if fits else max(self.peak_bytes)
        return not fits, size, len(self.priced.layout.mesh.axes)

    def timeline(self, hardware: Hardware) -> StageTimeline:
        """Return when each mesh works on which microbatch."""
        priced, start = self.priced, 0
        stages: list[Stage] = []
        for number, count in enumerate(self.layers):
            mesh = mesh_of_stage(self.schedule, number, self.meshes)
            stages.append(Stage(priced.layers[start : start + count], mesh, mesh in self.recomputing))
            start += count
        devices = priced.layout.mesh.device_count
        return StageTimeline(stages, self.meshes, devices, priced.microbatches, self.schedule, hardware, priced.trains)


@dataclass(frozen=True)
class PipelineResult:
    """The best pipeline that was found.

    `priced` are the layers on the meshes that were compared, each with the number of meshes. `undivided` are the
    numbers of microbatches that do not divide the batch, and `compared` counts the simulated pipelines.
    """

    found: EqualLayers
    three: ThreeLayers
    best: PipelineCandidate
    priced: Sequence[tuple[int, PricedLayers]]
    compared: int
    undivided: tuple[int, ...]
    end: SearchEnd

    @property
    def bound(self) -> float:
        """A lower bound of the seconds of all divisions into stages and all schedules on the meshes compared."""
        return min(priced.bound(meshes) for meshes, priced in self.priced)


def mesh_of_stage(schedule: str, stage: int, meshes: int) -> int:
    """Return the mesh of a stage: those of DualPipeV go down the meshes and up again."""
    if schedule == "DualPipeV":
        return stage if stage < meshes else 2 * meshes - 1 - stage
    return stage % meshes


def search_pipeline(module: ModuleOp, request: PipelineRequest) -> PipelineResult:
    """Return the best pipeline of a program.

    Raises: SdyError SDY-T263 if the program has no equal layers, SDY-T264 if its batch cannot be divided, SDY-T265 if
    neither the layers nor the devices can be divided by any number of stages.
    """
    end = monotonic() + request.seconds
    return _PipelineSearch(equal_layers(module), request).run(end)


@dataclass(slots=True)
class _PipelineSearch:
    found: EqualLayers
    request: PipelineRequest
    _three: ThreeLayers = field(init=False)
    _programs: dict[int, OneMicrobatch] = field(init=False)
    _priced: list[tuple[int, PricedLayers]] = field(init=False, default_factory=list[tuple[int, PricedLayers]])
    _candidates: list[PipelineCandidate] = field(init=False, default_factory=list[PipelineCandidate])
    _compared: int = field(init=False, default=0)

    def run(self, end: float) -> PipelineResult:
        """Return the best pipeline of those that are compared until `end`, a time of `monotonic`."""
        self._three = three_layers(self.found)
        programs = {count: one_microbatch(self._three, count) for count in self.request.microbatches}
        self._programs = {count: program for count, program in programs.items() if program is not None}
        undivided = tuple(count for count, program in programs.items() if program is None)
        if not self._programs:
            message = f"the batch cannot be divided into {' or '.join(map(str, undivided))} microbatches"
            hint = "the batch is the first dim of what layers take from those before; choose numbers that divide it"
            raise _error(self.found, "SDY-T264", message, hint)
        meshes = {stages: self.request.meshes(stages) for stages in self.request.stages if stages <= self.found.count}
        if not any(meshes.values()):
            raise _no_stages(self.found, self.request)
        ended = SearchEnd.NOTHING_BETTER
        try:
            self._compare(meshes, end)
        except TimeUpError:
            ended = SearchEnd.TIME_UP
        except KeyboardInterrupt:
            ended = SearchEnd.INTERRUPT
        if not self._candidates:
            message = f"no pipeline could be compared in {self.request.seconds:g} seconds"
            raise _error(self.found, "SDY-T252", message, "give the search more time")
        best = min(self._candidates, key=self._rank)
        return PipelineResult(self.found, self._three, best, self._priced, self._compared, undivided, ended)

    def _rank(self, candidate: PipelineCandidate) -> tuple[bool, float, int]:
        return candidate.rank(self.request.free_bytes)

    def _compare(self, meshes: Mapping[int, Sequence[Mesh]], end: float) -> None:
        """Price the layers and simulate them, the most promising ones first, until nothing is left or time is up."""
        layouts: dict[Mesh, Layout] = {}
        with stopping_at(end):
            for turn in range(MOST_LAYOUTS):
                layouts = dict(self._layouts(meshes, layouts, end))
                costs = {mesh: layout.solution.cost for mesh, layout in layouts.items()}
                pending = [
                    (stages, layouts[mesh], count)
                    for stages, on in meshes.items()
                    for mesh in sorted(costs.keys() & set(on), key=costs.__getitem__)[:PRICED_MESHES]
                    for count in self._programs
                ]
                while pending:
                    chosen = min(pending, key=self._promise)
                    # If nothing fits on any mesh, shardings that need less memory come first.
                    is_seen = self._promise(chosen)[0] > 0
                    if is_seen and turn < MOST_LAYOUTS - 1 and not self._is_beaten(inf):
                        break
                    pending.remove(chosen)
                    self._simulate(*self._price(*chosen))
                best = min(self._candidates, key=self._rank)
                if not (self._rank(best)[0] or best.recomputing):
                    break
            for candidate in sorted(self._candidates, key=self._rank)[:REFINED]:
                self._move_layers(candidate)

    def _promise(self, item: tuple[int, Layout, int]) -> tuple[float, float]:
        """Return a key that is smaller for what is likely to be better.

        A middle number of microbatches comes first on each mesh; then those close to the best one so far.
        """
        stages, layout, count = item
        middle = sorted(self._programs)[len(self._programs) // 2]
        alike = [
            candidate
            for candidate in self._candidates
            if candidate.priced.layout is layout and candidate.meshes == stages
        ]
        if not alike:
            return 0.0, abs(count - middle) + layout.solution.cost
        best = min(alike, key=self._rank)
        return best.seconds, abs(count - best.priced.microbatches)

    def _price(self, stages: int, layout: Layout, count: int) -> tuple[int, PricedLayers]:
        """Return the layers on a mesh for a number of microbatches, which are priced once."""
        found = next((each for _, each in self._priced if each.layout is layout and each.microbatches == count), None)
        if found is None:
            note_step(f"price the layers with {count} microbatches")
            program = self._programs[count]
            module = with_shardings_of(layout, program)
            costs = layer_costs(module, program, layout.mesh, self.request.hardware)
            found = PricedLayers(layout, count, costs, self.found.count, self.found.trains)
        self._priced.append((stages, found))
        return stages, found

    def _layouts(
        self, meshes: Mapping[int, Sequence[Mesh]], looser: Mapping[Mesh, Layout], end: float
    ) -> Iterator[tuple[Mesh, Layout]]:
        """Yield the shardings on each mesh until a share of the time is over; more axes have what fewer leave.

        They are those of the smallest microbatch: what its batch can be divided by, those of larger ones can. Where
        `looser` has shardings, they need half as much memory.
        """
        different = sorted({mesh for on in meshes.values() for mesh in on}, key=lambda mesh: len(mesh.axes))
        seconds = SHARE_OF_SHARDINGS * max(0.0, end - monotonic())
        limit, has_any = monotonic() + seconds, False
        program = self._programs[max(self._programs)]
        for number, mesh in enumerate(different):
            if has_any and monotonic() > limit:
                break
            note_step(f"choose shardings on the mesh {mesh}")
            alike = sum(len(each.axes) == len(mesh.axes) for each in different[number:])
            share = max(0.0, limit - monotonic()) / alike
            free = looser[mesh].solution.peak_bytes / 2 if mesh in looser else inf
            layout = layout_on(program, mesh, self.request.hardware, free, share)
            if layout is not None:
                has_any = True
                yield mesh, layout

    def _simulate(self, stages: int, priced: PricedLayers) -> None:
        """Simulate the schedules: with all divisions into stages if they are few, or else with balanced stages."""
        pairs = [(schedule, chunks) for schedule, numbers in SCHEDULES.items() for chunks in numbers]
        for schedule, chunks in pairs:
            count = stages * chunks
            if count > self.found.count or self._is_beaten(priced.bound(stages)):
                continue
            if not self.found.trains and schedule not in ("GPipe", "Interleaved1F1B"):
                continue  # without a backward pass, the others are the same
            has_few = comb(self.found.count - 1, count - 1) <= ALL_CUTS
            for cut in _all_cuts(self.found.count, count) if has_few else [balanced_cut(priced, count)]:
                self._try(stages, priced, schedule, cut)

    def _is_beaten(self, bound: float) -> bool:
        """Return whether a candidate that fits takes at most as long as a bound."""
        return any(self._rank(each) <= (False, bound, 0) for each in self._candidates)

    def _move_layers(self, candidate: PipelineCandidate) -> None:
        """Move one layer from a stage to another one, after the other, while that is better."""
        is_better = True
        while is_better:
            is_better = False
            for cut in _neighbours(candidate.layers):
                found = self._try(candidate.meshes, candidate.priced, candidate.schedule, cut)
                if self._rank(found) < self._rank(candidate):
                    candidate, is_better = found, True
                    break

    def _try(self, stages: int, priced: PricedLayers, schedule: str, cut: tuple[int, ...]) -> PipelineCandidate:
        """Simulate a pipeline, in which the meshes that would hold too much recompute the forward phases."""
        note_step(f"simulate {schedule} with {stages} stages")
        candidate = self._simulated(PipelineCandidate(priced, stages, schedule, cut, frozenset()))
        over = frozenset(mesh for mesh, peak in enumerate(candidate.peak_bytes) if peak > self.request.free_bytes)
        if over and priced.trains:
            candidate = min(candidate, self._simulated(replace(candidate, recomputing=over)), key=self._rank)
        self._candidates.append(candidate)
        return candidate

    def _simulated(self, candidate: PipelineCandidate) -> PipelineCandidate:
        self._compared += 1
        timeline = candidate.timeline(self.request.hardware)
        return replace(candidate, seconds=timeline.seconds, peak_bytes=tuple(timeline.peak_bytes))


def balanced_cut(priced: PricedLayers, count: int) -> tuple[int, ...]:
    """Return the numbers of layers of `count` stages such that the longest stage is as short as possible."""
    ends = [0.0]
    for each in priced.layers:
        ends.append(ends[-1] + each.forward.seconds + each.backward.seconds + each.update.seconds / priced.microbatches)
    total = len(ends) - 1
    best: list[tuple[float, tuple[int, ...]]] = [(ends[last], (last,)) for last in range(total + 1)]
    for done in range(1, count):
        best = [
            min(
                (
                    (max(best[first][0], ends[last] - ends[first]), (*best[first][1], last - first))
                    for first in range(done, last)
                ),
                default=(inf, ()),
            )
            for last in range(total + 1)
        ]
    return best[total][1]


def _all_cuts(total: int, count: int) -> Iterator[tuple[int, ...]]:
    """Yield all numbers of layers of `count` stages, at least one each."""
    for ends in combinations(range(1, total), count - 1):
        yield tuple(after - before for before, after in pairwise((0, *ends, total)))


def _neighbours(cut: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the divisions in which one layer is in another stage."""
    for source, layers in enumerate(cut):
        for target in range(len(cut)):
            if source != target and layers > 1:
                yield tuple(each - (at == source) + (at == target) for at, each in enumerate(cut))


def _error(found: EqualLayers, code: str, message: str, hint: str) -> SdyError:
    return SdyError(Diagnostic(code, message, span_of(main_function(found.module)), hint))


def _no_stages(found: EqualLayers, request: PipelineRequest) -> SdyError:
    devices = "" if request.devices is None else f" and {request.devices} devices"
    message = f"{found.count} layers{devices} cannot be divided into {' or '.join(map(str, request.stages))} stages"
    return _error(found, "SDY-T265", message, "a stage has at least one layer, and all stages have as many devices")
