"""From one sharding to another by a fixed schedule of collectives: slice, permute, all-to-alls, gather.

What makes the tensor smaller comes first, what makes it larger last. The choice is greedy, and the same as
upstream's collective for collective. Source: docs/spec/05, 2.

    mesh <["p"=2, "q"=4]>          [{"p"}, {}]  ->  [{}, {"p", "q"}]
    all_slice [{"q"}, {}]          [{"p", "q"}, {}]     # where it will be moved together with p
    all_to_all {"p", "q"}: 0->1    [{}, {"p", "q"}]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

from sdy.model.axis import AxisList, AxisRef, can_all_coexist
from sdy.model.axis_list import add_or_merge, extended
from sdy.model.checks.check_sharding import check_sharding
from sdy.model.collective import (
    AllGather,
    AllSlice,
    AllToAll,
    AllToAllParam,
    AxesPerDim,
    Collective,
    CollectivePermute,
)
from sdy.model.mesh import Mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.reshard.axis_alignment import without_suffix
from sdy.partitioner.reshard.schedule_state import ScheduleState, either_divides

MAX_ROUNDS = 2  # one is enough where all axis sizes are powers of two


@dataclass(frozen=True, slots=True)
class ReshardStep:
    """A collective, and the sharding of its result."""

    collective: Collective
    sharding: TensorSharding


def schedule(
    source: TensorSharding, target: TensorSharding, shape: Sequence[int | None], mesh: Mesh
) -> tuple[ReshardStep, ...]:
    """The collectives that take a tensor of `shape` from `source` to `target`, in order; none where they agree.

    `mesh` is the source's; the target's may differ from it in the order of devices. A dynamic dim is None. Where the
    schedule gets stuck, or would cut a tensor by sub-axes that no factorisation of their axis has both, as it may with
    axis sizes that do not divide each other, the tensor is gathered and sliced.
    """
    run = _Schedule(source, target, shape, mesh)
    for _ in range(MAX_ROUNDS):
        if run.is_done:
            break
        run.slice()
        run.permute()
        run.move(strict=True)
        run.move(strict=False)
        run.gather()
    return tuple(run.steps) if run.is_right else gather_and_slice(source, target, mesh)


class _Schedule:
    """The phases of one reshard, in the order of their methods."""

    def __init__(self, source: TensorSharding, target: TensorSharding, shape: Sequence[int | None], mesh: Mesh) -> None:
        self._state = ScheduleState(source, target, mesh)
        self._target = target
        self._shape = shape
        self._mesh = source.mesh
        self._permutes_evenly = True
        self.steps: list[ReshardStep] = []

    @property
    def is_done(self) -> bool:
        """The tensor is on the target's mesh and every cut is in place."""
        return self._mesh == self._target.mesh and self._state.is_in_place

    @property
    def is_right(self) -> bool:
        """Each collective is valid, and the last one ends at the target."""
        mesh = self._state.mesh
        ends_right = all(
            axes == extended((), dim.axes, mesh)
            for axes, dim in zip(self._state.current, self._target.dims, strict=True)
        )
        shape = tuple(self._shape)
        is_spelled = all(
            check_sharding(step.sharding, shape, mesh, allow_uneven=True) is None
            and can_all_coexist(step.sharding.axis_refs())
            for step in self.steps
        )
        return ends_right and is_spelled and self._permutes_evenly and self._mesh == self._target.mesh

    def slice(self) -> None:
        """Cut by the axes that the target has and the source has not, wherever there is room for them."""
        state = self._state
        capacity = [
            state.size(wanted) // gcd(state.size(extra), state.size(wanted))
            for extra, wanted in zip(state.extra, state.wanted, strict=True)
        ]
        sliced: list[AxisList] = [()] * state.rank
        for dim, ref in self._cuts_before_a_move(capacity):
            sliced[dim] = add_or_merge(sliced[dim], ref, state.mesh)
        available: list[AxisRef] = []
        cuts = [cut for dim in range(state.rank) for cut in self._cuts_in_place(dim, capacity, available)]
        filling = state.spread([available] * state.rank, capacity, in_front=False)
        for dim, ref in filling:
            state.cut_further(dim, ref)
        for dim, ref in (*cuts, *filling):
            sliced[dim] = add_or_merge(sliced[dim], ref, state.mesh)
        state.locate()
        if any(sliced):
            self._emit(AllSlice(tuple(sliced)))

    def _cuts_before_a_move(self, capacity: list[int]) -> list[tuple[int, AxisRef]]:
        """Cuts of a dim that an all-to-all will move to their place, so that it moves smaller shards."""
        state = self._state
        cuts: list[tuple[int, AxisRef]] = []
        for dim, extra in enumerate(state.extra):
            if not extra or state.wanted[dim] or extra[-1] not in state.destination:
                continue
            target, place = state.destination[extra[-1]]
            segment = self._new_cuts_behind(target, place)
            if state.extra[target] or not segment:
                continue
            run = _common_suffix(extra, state.wanted[target][: place + 1])
            if any(state.destination.get(ref, (None,))[0] == target for ref in extra[: len(extra) - len(run)]):
                continue
            if not state.divides_evenly(self._shape[dim], state.size(state.current[dim]) * state.size(segment)):
                continue
            capacity[target] //= state.size(run) * state.size(segment)
            for ref in segment:
                extra.append(ref)
                state.held.add(ref)
                state.cut_further(dim, ref)
                cuts.append((dim, ref))
        return cuts

    def _new_cuts_behind(self, dim: int, place: int) -> list[AxisRef]:
        """The wanted refs right behind `place` that no dim holds yet."""
        segment: list[AxisRef] = []
        for ref in self._state.wanted[dim][place + 1 :]:
            if ref in self._state.held:
                break
            segment.append(ref)
        return segment

    def _cuts_in_place(self, dim: int, capacity: list[int], available: list[AxisRef]) -> list[tuple[int, AxisRef]]:
        """Cuts of the dim that wants them. What has no room there is added to `available`."""
        state = self._state
        extra, wanted = state.extra[dim], state.wanted[dim]
        cuts: list[tuple[int, AxisRef]] = []
        place = 0
        while place < len(wanted):
            if wanted[place] in state.held:
                place += 1
                continue
            fitting = state.fit(wanted[place], capacity[dim])
            if fitting is None:
                available.append(wanted[place])
                place += 1
                continue
            part, rest, capacity[dim] = fitting
            cuts.append((dim, part))
            state.cut_further(dim, part)
            if not extra and place == 0:
                del wanted[0]
            else:
                extra.append(part)
                state.held.add(part)
                wanted[place] = part
                place += 1
            if rest is not None:
                wanted.insert(place, rest)
                available.append(rest)
                place += 1
        return cuts

    def permute(self) -> None:
        """Put cuts where they are wanted by handing whole shards on; also go to the target's order of devices."""
        changes_mesh = self._mesh != self._target.mesh
        rearranges = self._needs_permute()
        if not rearranges and not changes_mesh:
            return
        if rearranges:
            before = [self._state.size(axes) for axes in self._state.current]
            self._rearrange()
            after = [self._state.size(axes) for axes in self._state.current]
            self._permutes_evenly = self._permutes_evenly and before == after
        self._mesh = self._target.mesh
        self._emit(CollectivePermute())

    def _needs_permute(self) -> bool:
        """A cut in its dim but not in its place, cuts out of order, or one to drop that can be traded for a new one."""
        state = self._state
        to_add: AxisRef | None = None
        to_drop: AxisRef | None = None
        for dim, (extra, wanted) in enumerate(zip(state.extra, state.wanted, strict=True)):
            if extra and wanted and either_divides(state.mesh.size_of(extra[0]), state.mesh.size_of(wanted[0])):
                return True
            to_add = next((ref for ref in reversed(wanted) if ref not in state.held), to_add)
            previous: tuple[int, int] | None = None
            met: set[int] = set()
            for ref in extra:
                destination = state.destination.get(ref)
                if destination is None:
                    if previous is not None and not wanted:
                        return True
                    to_drop = ref
                else:
                    follows = previous is not None and destination == (previous[0], previous[1] + 1)
                    if (destination[0] == dim or destination[0] in met) and not follows:
                        return True
                    met.add(destination[0])
                previous = destination
        if to_add is None or to_drop is None:
            return False
        return either_divides(state.mesh.size_of(to_add), state.mesh.size_of(to_drop))

    def _rearrange(self) -> None:
        """Choose the cuts after a permute: each dim keeps their number."""
        state = self._state
        state.held = set()
        to_add: list[AxisRef] = []
        to_gather: list[list[AxisRef]] = [[] for _ in range(state.rank)]
        capacity = [1] * state.rank
        for dim, extra in enumerate(state.extra):
            total = state.size(extra)
            state.current[dim] = without_suffix(state.current[dim], extra)
            capacity[dim] = self._fill_with_wanted(dim, total)
            to_add += state.wanted[dim]
            left = [ref for ref in extra if ref not in state.destination]
            displaced = self._take(left, total // capacity[dim])
            # What was not displaced comes first and returns to its place.
            to_gather[dim] = [*left, *displaced]
            state.extra[dim] = []
        state.spread([to_add] * state.rank, capacity, in_front=False)
        state.spread(to_gather, capacity, in_front=True)
        rest = [ref for refs in to_gather for ref in refs]
        state.spread([rest] * state.rank, capacity, in_front=True)
        state.locate()
        for dim, extra in enumerate(state.extra):
            state.current[dim] = extended(state.current[dim], extra, state.mesh)

    def _fill_with_wanted(self, dim: int, capacity: int) -> int:
        """Move wanted refs to their place while they fit `capacity`; what is left of it."""
        state = self._state
        wanted = state.wanted[dim]
        while wanted and (fitting := state.fit(wanted[0], capacity)) is not None:
            part, rest, capacity = fitting
            wanted[:1] = [] if rest is None else [rest]
            state.cut_further(dim, part)
        return capacity

    def _take(self, refs: list[AxisRef], capacity: int) -> list[AxisRef]:
        """Take refs that fit `capacity` off the front of `refs`."""
        taken: list[AxisRef] = []
        while refs and (fitting := self._state.fit(refs[0], capacity)) is not None:
            part, rest, capacity = fitting
            refs[:1] = [] if rest is None else [rest]
            taken.append(part)
        return taken

    def move(self, *, strict: bool) -> None:
        """All-to-alls: the minor cuts of a dim go to the dim that wants them; strictly, only where they come next."""
        state = self._state
        for source in range(state.rank):
            while (found := self._movable(source)) is not None:
                target, moved = found
                if strict and state.wanted[target][: len(moved)] != moved:
                    break
                self._move(source, target, moved)

    def _movable(self, source: int) -> tuple[int, list[AxisRef]] | None:
        """The longest minor run of extra cuts of `source` that all belong to one other dim."""
        moved: list[AxisRef] = []
        target: int | None = None
        for ref in reversed(self._state.extra[source]):
            destination = self._state.destination.get(ref)
            if destination is None or destination[0] == source or target not in (None, destination[0]):
                break
            target = destination[0]
            moved.insert(0, ref)
        return None if target is None else (target, moved)

    def _move(self, source: int, target: int, moved: list[AxisRef]) -> None:
        state = self._state
        state.current[source] = without_suffix(state.current[source], moved)
        del state.extra[source][-len(moved) :]
        for ref in moved:
            state.cut_further(target, ref)
            state.held.discard(ref)
            if not state.extra[target] and state.wanted[target][:1] == [ref]:
                del state.wanted[target][0]
            else:
                state.extra[target].append(ref)
                state.held.add(ref)
        self._emit(AllToAll((AllToAllParam(extended((), moved, state.mesh), source, target),)))

    def gather(self) -> None:
        """Undo the extra cuts of every dim whose last one is wanted nowhere."""
        state = self._state
        gathered: list[AxisList] = []
        for dim, extra in enumerate(state.extra):
            if not extra or extra[-1] in state.destination:
                gathered.append(())
                continue
            gathered.append(extended((), extra, state.mesh))
            state.held.discard(extra[-1])
            state.current[dim] = without_suffix(state.current[dim], extra)
            state.extra[dim] = []
        if any(gathered):
            self._emit(AllGather(tuple(gathered)))

    def _emit(self, collective: Collective) -> None:
        self.steps.append(ReshardStep(collective, _closed(self._target, self._mesh, self._state.current)))


def _common_suffix(first: Sequence[AxisRef], second: Sequence[AxisRef]) -> list[AxisRef]:
    length = 0
    while length < min(len(first), len(second)) and first[-1 - length] == second[-1 - length]:
        length += 1
    return list(first[len(first) - length :])


def _closed(target: TensorSharding, mesh: str | Mesh, axes: Sequence[AxisList]) -> TensorSharding:
    return replace(target, mesh=mesh, dims=tuple(DimSharding(refs) for refs in axes), replicated=())


def gather_and_slice(source: TensorSharding, target: TensorSharding, mesh: Mesh) -> tuple[ReshardStep, ...]:
    """A schedule that is right for every pair of shardings: undo what differs, change the mesh, cut."""
    common = [_common_prefix(ours.axes, theirs.axes) for ours, theirs in zip(source.dims, target.dims, strict=True)]
    undone: AxesPerDim = tuple(dim.axes[len(kept) :] for dim, kept in zip(source.dims, common, strict=True))
    added: AxesPerDim = tuple(dim.axes[len(kept) :] for dim, kept in zip(target.dims, common, strict=True))
    steps: list[ReshardStep] = []
    if any(undone):
        steps.append(ReshardStep(AllGather(undone), _closed(target, source.mesh, common)))
    if source.mesh != target.mesh:
        steps.append(ReshardStep(CollectivePermute(), _closed(target, target.mesh, common)))
    if any(added):
        steps.append(ReshardStep(AllSlice(added), _closed(target, target.mesh, [dim.axes for dim in target.dims])))
    return tuple(steps)


def _common_prefix(first: AxisList, second: AxisList) -> AxisList:
    length = 0
    while length < min(len(first), len(second)) and first[length] == second[length]:
        length += 1
    return first[:length]
