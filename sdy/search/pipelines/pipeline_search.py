"""Search for the pipeline of a program: its stages, their mesh and shardings, microbatches, schedule and recomputation.

1. The equal layers of the program are found, and a program of three of them on one microbatch stands for all.
2. The sharding search chooses its shardings on each mesh of a stage, for each way to divide microbatches along its
   axes; the phases of its layers are priced.
3. Each schedule is simulated for each number of stages and of microbatches, the most promising ones first: with all
   divisions into stages if there are few, or with stages of balanced time, between which layers then move while that is
   better. A mesh that would hold too much recomputes the forward phases of its stages. If the best pipeline needs that,
   or none fits, shardings that need half the memory are tried, and half of that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import nsmallest
from itertools import combinations, groupby, islice, pairwise, product
from math import comb, gcd, inf, prod
from operator import add, attrgetter, itemgetter
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

_Place = tuple[Mesh, tuple[int, ...]]  # where shardings are chosen: a mesh, and numbers of microbatches
_Priced = tuple[int, Layout, int]  # a number of meshes, shardings, and a number of microbatches

SHARE_OF_SHARDINGS = 0.5  # of the time
PRICED_LAYOUTS = 2  # for each number of stages and of microbatches, those that are likely to be best
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
        work = self.microbatches * sum(each.seconds(self.microbatches) for each in self.layers)
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

    @property
    def stages(self) -> list[Stage]:
        """The stages in order."""
        layers = iter(self.priced.layers)
        places = (mesh_of_stage(self.schedule, number, self.meshes) for number in range(len(self.layers)))
        own = zip(self.layers, places, strict=True)
        return [Stage(tuple(islice(layers, count)), mesh, mesh in self.recomputing) for count, mesh in own]

    @cached_property
    def floor(self) -> float:
        """A lower bound of the time: each mesh waits for the first microbatch, and then works on all of them."""
        work, arrival, arrivals = [0.0] * self.meshes, 0.0, [inf] * self.meshes
        for stage in self.stages:
            work[stage.mesh] += self.priced.microbatches * (stage.forward + stage.backward)
            arrivals[stage.mesh] = min(arrivals[stage.mesh], arrival)
            arrival += stage.forward
        return max(map(add, arrivals, work))

    def timeline(self, hardware: Hardware) -> StageTimeline:
        """Return when each mesh works on which microbatch."""
        counts = self.meshes, self.priced.layout.mesh.device_count, self.priced.microbatches
        return StageTimeline(self.stages, *counts, self.schedule, hardware, self.priced.trains)


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
        layouts: dict[_Place, Layout] = {}
        with stopping_at(end):
            for turn in range(MOST_LAYOUTS):
                found, layouts = self._layouts(meshes, layouts, end), {}
                tried: list[_Priced] = []
                for _, group in groupby(found, lambda each: len(each[0][0].axes)):
                    layouts.update(group)  # before shardings on more axes, which take longer, one has a price
                    for first in self._pending(meshes, layouts, tried)[:1]:
                        tried.append(first)
                        self._simulate(*self._price(*first))
                pending = self._pending(meshes, layouts, tried)
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

    def _pending(
        self, meshes: Mapping[int, Sequence[Mesh]], layouts: Mapping[_Place, Layout], tried: Sequence[_Priced]
    ) -> list[_Priced]:
        """Return what is priced: numbers of meshes, with shardings that are likely to be best, and of microbatches.

        What was tried is left out.
        """
        found: list[tuple[float, int, Layout, int]] = []
        for (stages, on), count in product(meshes.items(), self._programs):
            own = [(place, layout) for place, layout in layouts.items() if place[0] in on and count in place[1]]
            priced = ((_estimate(stages, place, layout, count), stages, layout, count) for place, layout in own)
            found += nsmallest(PRICED_LAYOUTS, priced, key=itemgetter(0))
        likely = ((stages, layout, count) for _, stages, layout, count in sorted(found, key=itemgetter(0)))
        return [each for each in likely if each not in tried]

    def _promise(self, item: _Priced) -> tuple[float, float]:
        """Return a key that is smaller for what is likely to be better.

        One number of microbatches comes first for all shardings; then those close to the best one so far.
        """
        stages, layout, count = item
        alike = [each for each in self._candidates if each.priced.layout is layout and each.meshes == stages]
        best = min(alike, key=self._rank, default=None)
        return (0.0, 0.0) if best is None else (best.seconds, abs(count - best.priced.microbatches))

    def _price(self, stages: int, layout: Layout, count: int) -> tuple[int, PricedLayers]:
        """Return the layers on a mesh for a number of microbatches, which are priced once."""
        found = next((each for _, each in self._priced if each.layout is layout and each.microbatches == count), None)
        if found is None:
            note_step(f"price the layers with {count} microbatches")
            program = self._programs[count]
            costs = layer_costs(with_shardings_of(layout, program), program, layout.mesh, self.request.hardware)
            found = PricedLayers(layout, count, costs, self.found.count, self.found.trains)
        self._priced.append((stages, found))
        return stages, found

    def _layouts(
        self, meshes: Mapping[int, Sequence[Mesh]], looser: Mapping[_Place, Layout], end: float
    ) -> Iterator[tuple[_Place, Layout]]:
        """Yield the shardings on each mesh until a share of the time is over; more axes have what fewer leave.

        Of as many axes, those come first for whose number of stages the best ones were found so far. Where `looser`
        has shardings, they need half as much memory.
        """
        left = {(mesh, counts): stages for stages, on in meshes.items() for mesh in on for counts in self._groups(mesh)}
        limit = monotonic() + SHARE_OF_SHARDINGS * max(0.0, end - monotonic())
        best: dict[int, float] = {}
        while left and not (best and monotonic() > limit):
            place = mesh, counts = min(left, key=lambda each: (len(each[0].axes), best.get(left[each], 0.0)))
            note_step(f"choose shardings on the mesh {mesh}")
            alike = sum(len(each.axes) == len(mesh.axes) for each, _ in left)
            share = max(0.0, limit - monotonic()) / alike
            free = looser[place].solution.peak_bytes / 2 if place in looser else inf
            layout = layout_on(self._programs[max(counts)], mesh, self.request.hardware, free, share)
            stages = left.pop(place)
            if layout is not None:
                best[stages] = min(best.get(stages, inf), _estimate(stages, place, layout, max(counts)))
                yield place, layout

    def _groups(self, mesh: Mesh) -> list[tuple[int, ...]]:
        """Return the numbers of microbatches in groups with the same shardings: the same axes divide the batch."""
        sizes = [axis.size for axis in mesh.axes]
        products = {prod(some) for count in range(len(sizes)) for some in combinations(sizes, count + 1)}
        groups: dict[frozenset[int], tuple[int, ...]] = defaultdict(tuple)
        for count in self._programs:
            rows = gcd(*(batch // count for batch in self._three.batches))
            groups[frozenset(each for each in products if rows % each == 0)] += (count,)
        return list(groups.values())

    def _simulate(self, stages: int, priced: PricedLayers) -> None:
        """Simulate the schedules: with all divisions into stages if they are few, or else with balanced stages.

        Those that would take least if nothing waited come first; those that would take too long even so are left out.
        """
        found: list[PipelineCandidate] = []
        for schedule, chunks in ((schedule, chunks) for schedule, numbers in SCHEDULES.items() for chunks in numbers):
            count, is_other = stages * chunks, self.found.trains or schedule in ("GPipe", "Interleaved1F1B")
            if count > self.found.count or not is_other:  # without a backward pass, the others are the same
                continue
            has_few = comb(self.found.count - 1, count - 1) <= ALL_CUTS
            cuts = _all_cuts(self.found.count, count) if has_few else [balanced_cut(priced, stages, schedule, chunks)]
            found += (PipelineCandidate(priced, stages, schedule, cut, frozenset()) for cut in cuts)
        for number, candidate in enumerate(sorted(found, key=attrgetter("floor"))):
            if number and self._is_beaten(candidate.floor, REFINED):
                break
            self._try(candidate)

    def _is_beaten(self, bound: float, times: int = 1) -> bool:
        """Return whether so many candidates that fit take at most as long as a bound."""
        return sum(self._rank(each) <= (False, bound, 0) for each in self._candidates) >= times

    def _move_layers(self, candidate: PipelineCandidate) -> None:
        """Move one layer from a stage to another one, after the other, while that is better."""
        better: PipelineCandidate | None = candidate
        while better is not None:
            candidate = better
            moved = (replace(candidate, layers=cut, recomputing=frozenset()) for cut in _neighbours(candidate.layers))
            tried = (self._try(each) for each in moved if (False, each.floor, 0) <= self._rank(candidate))
            better = next((each for each in tried if self._rank(each) < self._rank(candidate)), None)

    def _try(self, candidate: PipelineCandidate) -> PipelineCandidate:
        """Simulate a pipeline, in which the meshes that would hold too much recompute the forward phases."""
        note_step(f"simulate {candidate.schedule} with {candidate.meshes} stages")
        candidate = self._simulated(candidate)
        over = frozenset(mesh for mesh, peak in enumerate(candidate.peak_bytes) if peak > self.request.free_bytes)
        if over and candidate.priced.trains:
            candidate = min(candidate, self._simulated(replace(candidate, recomputing=over)), key=self._rank)
        self._candidates.append(candidate)
        return candidate

    def _simulated(self, candidate: PipelineCandidate) -> PipelineCandidate:
        self._compared += 1
        timeline = candidate.timeline(self.request.hardware)
        return replace(candidate, seconds=timeline.seconds, peak_bytes=tuple(timeline.peak_bytes))


def balanced_cut(priced: PricedLayers, meshes: int, schedule: str, chunks: int) -> tuple[int, ...]:
    """Return the numbers of layers of `chunks` stages on each mesh such that the longest stage is as short as possible.

    Of equal stages, those of the mesh with the least work have one more layer.
    """
    count = meshes * chunks
    places = [mesh_of_stage(schedule, stage, meshes) for stage in range(count)]
    first, middle, last = (each.seconds(priced.microbatches) for each in priced.costs)
    times, layers = [first, *[middle] * (count - 2), last], [1] * count
    work = [sum(time for time, at in zip(times, places, strict=True) if at == mesh) for mesh in range(meshes)]
    for _ in range(priced.count - count):
        stage = min(range(count), key=lambda stage: (times[stage], work[places[stage]], -stage))
        layers[stage] += 1
        times[stage] += middle
        work[places[stage]] += middle
    return tuple(layers)


def _estimate(stages: int, place: _Place, layout: Layout, microbatches: int) -> float:
    """Return a number that is smaller for what is likely to take less time: the seconds of three layers."""
    return (1 + (stages - 1) / microbatches) / stages * layout.solution.cost * max(place[1])


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
