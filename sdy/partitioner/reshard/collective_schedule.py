"""Convert a reshard to collectives by a fixed schedule: all-slice, permute, all-to-alls, all-gather.

Collectives that make the tensor smaller come first, those that make it larger last. The choice is greedy, and yields
the same collectives as upstream. Source: docs/spec/05, 2.

    mesh <["p"=2, "q"=4]>          [{"p"}, {}]  ->  [{}, {"p", "q"}]
    all_slice [{"q"}, {}]          [{"p", "q"}, {}]     # on the dim from which it moves together with p
    all_to_all {"p", "q"}: 0->1    [{}, {"p", "q"}]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sdy.model.axis import AxisList, AxisRef, can_all_coexist
from sdy.model.axis_list import extended
from sdy.model.axis_moves import AllToAllParam, AxesPerDim
from sdy.model.checks.check_sharding import check_sharding
from sdy.model.collective import AllGather, AllSlice, AllToAll, Collective, CollectivePermute
from sdy.model.mesh import Mesh
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.reshard.axis_alignment import without_suffix
from sdy.partitioner.reshard.schedule_permute import needs_permute, permute_axes
from sdy.partitioner.reshard.schedule_slices import add_missing_axes
from sdy.partitioner.reshard.schedule_state import ScheduleState

MAX_ROUNDS = 2  # one is enough if all axis sizes are powers of two


@dataclass(frozen=True, slots=True)
class ReshardStep:
    """A collective, and the sharding of its result."""

    collective: Collective
    sharding: TensorSharding


def schedule(
    source: TensorSharding, target: TensorSharding, shape: Sequence[int | None], mesh: Mesh
) -> tuple[ReshardStep, ...]:
    """Return the collectives that reshard a tensor of `shape` from `source` to `target`, in order; empty if equal.

    `mesh` is that of the source; the target's mesh may have another device order. A dynamic dim is None. The tensor is
    gathered and sliced if the schedule does not reach the target, or if a step would shard it along sub-axes that do
    not belong to a common split of their axis, as may happen if axis sizes do not divide each other.
    """
    run = _CollectiveScheduler(source, target, shape, mesh)
    for _ in range(MAX_ROUNDS):
        if run.is_done:
            break
        run.slice()
        run.permute()
        run.move_between_dims(strict=True)
        run.move_between_dims(strict=False)
        run.gather()
    return tuple(run.steps) if run.is_valid else gather_and_slice(source, target, mesh)


class _CollectiveScheduler:
    """The phases of one reshard; the methods are called in their order."""

    def __init__(self, source: TensorSharding, target: TensorSharding, shape: Sequence[int | None], mesh: Mesh) -> None:
        self._state = ScheduleState(source, target, mesh)
        self._target = target
        self._shape = shape
        self._mesh = source.mesh
        self._permutes_evenly = True
        self.steps: list[ReshardStep] = []

    @property
    def is_done(self) -> bool:
        """Return whether the tensor is on the target's mesh and all its axes are in position."""
        return self._mesh == self._target.mesh and self._state.is_at_target

    @property
    def is_valid(self) -> bool:
        """Return whether each collective is valid and the last one yields the target."""
        mesh = self._state.mesh
        has_target_axes = all(
            axes == extended((), dim.axes, mesh)
            for axes, dim in zip(self._state.current, self._target.dims, strict=True)
        )
        shape = tuple(self._shape)
        has_valid_steps = all(
            check_sharding(step.sharding, shape, mesh, allow_uneven=True) is None
            and can_all_coexist(step.sharding.axis_refs())
            for step in self.steps
        )
        return has_target_axes and has_valid_steps and self._permutes_evenly and self._mesh == self._target.mesh

    def slice(self) -> None:
        """Shard the tensor along axes that the target has and the source does not, if a dim has room for them."""
        sliced = add_missing_axes(self._state, self._shape)
        if any(sliced):
            self._emit(AllSlice(sliced))

    def permute(self) -> None:
        """Exchange shards between devices so that axes get in position; also switch to the target's device order."""
        changes_mesh = self._mesh != self._target.mesh
        rearranges = needs_permute(self._state)
        if not rearranges and not changes_mesh:
            return
        if rearranges:
            before = [self._state.shard_count(axes) for axes in self._state.current]
            permute_axes(self._state)
            after = [self._state.shard_count(axes) for axes in self._state.current]
            self._permutes_evenly = self._permutes_evenly and before == after
        self._mesh = self._target.mesh
        self._emit(CollectivePermute())

    def move_between_dims(self, *, strict: bool) -> None:
        """Move the minor axes of dims to their target dims by all-to-alls; if strict, only axes that are next there."""
        state = self._state
        for source in range(state.rank):
            while (found := self._movable(source)) is not None:
                target, moved = found
                if strict and state.missing[target][: len(moved)] != moved:
                    break
                self._move(source, target, moved)

    def _movable(self, source: int) -> tuple[int, list[AxisRef]] | None:
        """Return another dim, and the longest minor run of extra axes of `source` that all belong to it."""
        moved: list[AxisRef] = []
        target: int | None = None
        for ref in reversed(self._state.extra[source]):
            destination = self._state.destinations.get(ref)
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
            state.append_axis(target, ref)
            state.extra_refs.discard(ref)
            if not state.extra[target] and state.missing[target][:1] == [ref]:
                del state.missing[target][0]
            else:
                state.extra[target].append(ref)
                state.extra_refs.add(ref)
        self._emit(AllToAll((AllToAllParam(extended((), moved, state.mesh), source, target),)))

    def gather(self) -> None:
        """Gather the extra axes of each dim whose last extra axis has no destination."""
        state = self._state
        gathered: list[AxisList] = []
        for dim, extra in enumerate(state.extra):
            if not extra or extra[-1] in state.destinations:
                gathered.append(())
                continue
            gathered.append(extended((), extra, state.mesh))
            state.extra_refs.discard(extra[-1])
            state.current[dim] = without_suffix(state.current[dim], extra)
            state.extra[dim] = []
        if any(gathered):
            self._emit(AllGather(tuple(gathered)))

    def _emit(self, collective: Collective) -> None:
        self.steps.append(ReshardStep(collective, _closed(self._target, self._mesh, self._state.current)))


def _closed(target: TensorSharding, mesh: str | Mesh, axes: Sequence[AxisList]) -> TensorSharding:
    return replace(target, mesh=mesh, dims=tuple(DimSharding(refs) for refs in axes), replicated=())


def gather_and_slice(source: TensorSharding, target: TensorSharding, mesh: Mesh) -> tuple[ReshardStep, ...]:
    """Return a schedule that is valid for every pair of shardings: gather axes that differ, change mesh, slice."""
    common = [_common_prefix(ours.axes, theirs.axes) for ours, theirs in zip(source.dims, target.dims, strict=True)]
    removed: AxesPerDim = tuple(dim.axes[len(kept) :] for dim, kept in zip(source.dims, common, strict=True))
    added: AxesPerDim = tuple(dim.axes[len(kept) :] for dim, kept in zip(target.dims, common, strict=True))
    steps: list[ReshardStep] = []
    if any(removed):
        steps.append(ReshardStep(AllGather(removed), _closed(target, source.mesh, common)))
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
