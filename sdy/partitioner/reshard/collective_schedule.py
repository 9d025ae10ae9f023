"""Convert a reshard to collectives by a fixed schedule: all-slice, permute, all-to-alls, all-gather.

Collectives that make the tensor smaller come first, those that make it larger last. The choice is greedy, and yields
the same collectives as upstream. Source: docs/spec/05, 2.

    mesh <["p"=2, "q"=4]>          [{"p"}, {}]  ->  [{}, {"p", "q"}]
    all_slice [{"q"}, {}]          [{"p", "q"}, {}]     # on the dim from which it moves together with p
    all_to_all {"p", "q"}: 0->1    [{}, {"p", "q"}]
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import gcd

from sdy.model.axis import (
    AxisList,
    AxisRef,
    can_all_coexist,
    can_coexist,
    contains,
    intersection,
    order_key,
    overlaps,
    prefix_without,
)
from sdy.model.axis_list import add_or_merge, extended, sharded_size
from sdy.model.axis_on_mesh import split_at, suffix_without
from sdy.model.checks.check_sharding import check_sharding
from sdy.model.collective import AllGather, AllSlice, AllToAll, AllToAllParam, AxesPerDim, Collective, CollectivePermute
from sdy.model.mesh import Mesh
from sdy.model.shape import Shape
from sdy.model.sharding import DimSharding, TensorSharding
from sdy.partitioner.reshard.steps import Plan, PlanStep

MAX_ROUNDS = 2  # one is enough if all axis sizes are powers of two


def schedule(source: TensorSharding, target: TensorSharding, shape: Shape, mesh: Mesh) -> Plan:
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
    return tuple(run.steps) if run.is_valid else gather_and_slice(source, target, shape, mesh)


class _CollectiveScheduler:
    """The phases of one reshard; the methods are called in their order."""

    def __init__(self, source: TensorSharding, target: TensorSharding, shape: Shape, mesh: Mesh) -> None:
        self._state = ScheduleState(source, target, mesh)
        self._target = target
        self._shape = shape
        self._mesh = source.mesh
        self._permutes_evenly = True
        self.steps: list[PlanStep] = []

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
        has_valid_steps = all(
            check_sharding(step.sharding, self._shape, mesh, allow_uneven=True) is None
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
        self.steps.append(PlanStep(collective, self._shape, _closed(self._target, self._mesh, self._state.current)))


def _closed(target: TensorSharding, mesh: str | Mesh, axes: Sequence[AxisList]) -> TensorSharding:
    return replace(target, mesh=mesh, dims=tuple(DimSharding(refs) for refs in axes), replicated=())


def gather_and_slice(source: TensorSharding, target: TensorSharding, shape: Shape, mesh: Mesh) -> Plan:
    """Return a schedule that is valid for every pair of shardings: gather axes that differ, change mesh, slice."""
    common = [_common_prefix(ours.axes, theirs.axes) for ours, theirs in zip(source.dims, target.dims, strict=True)]
    removed: AxesPerDim = tuple(dim.axes[len(kept) :] for dim, kept in zip(source.dims, common, strict=True))
    added: AxesPerDim = tuple(dim.axes[len(kept) :] for dim, kept in zip(target.dims, common, strict=True))
    steps: list[PlanStep] = []
    if any(removed):
        steps.append(PlanStep(AllGather(removed), shape, _closed(target, source.mesh, common)))
    if source.mesh != target.mesh:
        steps.append(PlanStep(CollectivePermute(), shape, _closed(target, target.mesh, common)))
    if any(added):
        steps.append(PlanStep(AllSlice(added), shape, _closed(target, target.mesh, [dim.axes for dim in target.dims])))
    return tuple(steps)


def _common_prefix(first: Sequence[AxisRef], second: Sequence[AxisRef]) -> AxisList:
    length = 0
    while length < min(len(first), len(second)) and first[length] == second[length]:
        length += 1
    return tuple(first[:length])


def needs_permute(state: ScheduleState) -> bool:
    """Return whether a permute puts an axis in position. Source: docs/spec/05, 2.5.

    That is: an axis is in its dim but not at its index, axes of a dim are out of order, or an axis that the target
    does not have can be exchanged for a missing one.
    """
    to_add: AxisRef | None = None
    to_remove: AxisRef | None = None
    for dim, (extra, missing) in enumerate(zip(state.extra, state.missing, strict=True)):
        if extra and missing and either_divides(state.mesh.size_of(extra[0]), state.mesh.size_of(missing[0])):
            return True
        to_add = next((ref for ref in reversed(missing) if ref not in state.extra_refs), to_add)
        previous: tuple[int, int] | None = None
        visited_dims: set[int] = set()
        for ref in extra:
            destination = state.destinations.get(ref)
            if destination is None:
                if previous is not None and not missing:
                    return True
                to_remove = ref
            else:
                follows = previous is not None and destination == (previous[0], previous[1] + 1)
                if (destination[0] == dim or destination[0] in visited_dims) and not follows:
                    return True
                visited_dims.add(destination[0])
            previous = destination
    if to_add is None or to_remove is None:
        return False
    return either_divides(state.mesh.size_of(to_add), state.mesh.size_of(to_remove))


def permute_axes(state: ScheduleState) -> None:
    """Choose the axes after a permute; each dim keeps its number of shards."""
    state.extra_refs = set()
    to_add: list[AxisRef] = []
    to_gather: list[list[AxisRef]] = [[] for _ in range(state.rank)]
    capacity = [1] * state.rank
    for dim, extra in enumerate(state.extra):
        total = state.shard_count(extra)
        state.current[dim] = without_suffix(state.current[dim], extra)
        capacity[dim] = _fill_with_missing(state, dim, total)
        to_add += state.missing[dim]
        left = [ref for ref in extra if ref not in state.destinations]
        displaced = _take_fitting(state, left, total // capacity[dim])
        # Axes that were not displaced come first, so that they keep their position.
        to_gather[dim] = [*left, *displaced]
        state.extra[dim] = []
    state.distribute([to_add] * state.rank, capacity, prepend=False)
    state.distribute(to_gather, capacity, prepend=True)
    rest = [ref for refs in to_gather for ref in refs]
    state.distribute([rest] * state.rank, capacity, prepend=True)
    state.update_destinations()
    for dim, extra in enumerate(state.extra):
        state.current[dim] = extended(state.current[dim], extra, state.mesh)


def _fill_with_missing(state: ScheduleState, dim: int, capacity: int) -> int:
    """Put missing axes of `dim` in position while they fit `capacity`; return the remaining capacity."""
    missing = state.missing[dim]
    while missing and (fitting := state.fit(missing[0], capacity)) is not None:
        ref, rest, capacity = fitting
        missing[:1] = [] if rest is None else [rest]
        state.append_axis(dim, ref)
    return capacity


def _take_fitting(state: ScheduleState, refs: list[AxisRef], capacity: int) -> list[AxisRef]:
    """Remove refs that fit `capacity` from the major end of `refs`, and return them."""
    taken: list[AxisRef] = []
    while refs and (fitting := state.fit(refs[0], capacity)) is not None:
        ref, rest, capacity = fitting
        refs[:1] = [] if rest is None else [rest]
        taken.append(ref)
    return taken


def add_missing_axes(state: ScheduleState, shape: Sequence[int | None]) -> AxesPerDim:
    """Shard the tensor along the axes that only the target has, as far as the dims have room; return the axes by dim.

    `shape` is the global shape. Source: docs/spec/05, 2.4.
    """
    capacity = [
        state.shard_count(missing) // gcd(state.shard_count(extra), state.shard_count(missing))
        for extra, missing in zip(state.extra, state.missing, strict=True)
    ]
    sliced: list[AxisList] = [()] * state.rank
    for dim, ref in _add_before_all_to_all(state, shape, capacity):
        sliced[dim] = add_or_merge(sliced[dim], ref, state.mesh)
    unplaced: list[AxisRef] = []
    in_position = [added for dim in range(state.rank) for added in _add_in_position(state, dim, capacity, unplaced)]
    elsewhere = state.distribute([unplaced] * state.rank, capacity, prepend=False)
    for dim, ref in elsewhere:
        state.append_axis(dim, ref)
    for dim, ref in (*in_position, *elsewhere):
        sliced[dim] = add_or_merge(sliced[dim], ref, state.mesh)
    state.update_destinations()
    return tuple(sliced)


def _add_before_all_to_all(
    state: ScheduleState, shape: Sequence[int | None], capacity: list[int]
) -> list[tuple[int, AxisRef]]:
    """Add axes to a dim from which an all-to-all will move them to their dim, so that it moves smaller shards."""
    added: list[tuple[int, AxisRef]] = []
    for dim, extra in enumerate(state.extra):
        if not extra or state.missing[dim] or extra[-1] not in state.destinations:
            continue
        target, index = state.destinations[extra[-1]]
        following = _new_refs_after(state, target, index)
        if state.extra[target] or not following:
            continue
        run = _common_suffix(extra, state.missing[target][: index + 1])
        if any(state.destinations.get(ref, (None,))[0] == target for ref in extra[: len(extra) - len(run)]):
            continue
        count = state.shard_count(state.current[dim]) * state.shard_count(following)
        if not state.divides_evenly(shape[dim], count):
            continue
        capacity[target] //= state.shard_count(run) * state.shard_count(following)
        for ref in following:
            extra.append(ref)
            state.extra_refs.add(ref)
            state.append_axis(dim, ref)
            added.append((dim, ref))
    return added


def _new_refs_after(state: ScheduleState, dim: int, index: int) -> list[AxisRef]:
    """Return the missing refs of `dim` right after `index` along which no dim is sharded yet."""
    following: list[AxisRef] = []
    for ref in state.missing[dim][index + 1 :]:
        if ref in state.extra_refs:
            break
        following.append(ref)
    return following


def _add_in_position(
    state: ScheduleState, dim: int, capacity: list[int], unplaced: list[AxisRef]
) -> list[tuple[int, AxisRef]]:
    """Add missing axes to their own dim; append those that do not fit to `unplaced`."""
    extra, missing = state.extra[dim], state.missing[dim]
    added: list[tuple[int, AxisRef]] = []
    index = 0
    while index < len(missing):
        if missing[index] in state.extra_refs:
            index += 1
            continue
        fitting = state.fit(missing[index], capacity[dim])
        if fitting is None:
            unplaced.append(missing[index])
            index += 1
            continue
        ref, rest, capacity[dim] = fitting
        added.append((dim, ref))
        state.append_axis(dim, ref)
        if not extra and index == 0:
            del missing[0]
        else:
            extra.append(ref)
            state.extra_refs.add(ref)
            missing[index] = ref
            index += 1
        if rest is not None:
            missing.insert(index, rest)
            unplaced.append(rest)
            index += 1
    return added


def _common_suffix(first: Sequence[AxisRef], second: Sequence[AxisRef]) -> list[AxisRef]:
    return list(_common_prefix(first[::-1], second[::-1]))[::-1]


class ScheduleState:
    """Three lists of axis refs per dim, split so that any two refs are equal or disjoint.

    `extra` are the axes of the current sharding that the target does not have, or not in this position; `missing` are
    the axes of the target that are not in position yet; `current` are all axes of the current sharding, merged.
    `extra_refs` is the set of all refs in `extra`; `destinations` maps a ref to its dim and index in `missing` at the
    last call of `update_destinations`. Some phases rely on the outdated positions. Source: docs/spec/05, 2.2 and 2.3.
    """

    def __init__(self, source: TensorSharding, target: TensorSharding, mesh: Mesh) -> None:
        self.mesh = mesh
        self.current: list[AxisList] = [dim.axes for dim in source.dims]
        in_source = sorted((ref for dim in source.dims for ref in dim.axes), key=order_key)
        in_target = sorted((ref for dim in target.dims for ref in dim.axes), key=order_key)
        self.extra = [split_at_boundaries(dim.axes, in_target, mesh) for dim in source.dims]
        self.missing = [split_at_boundaries(dim.axes, in_source, mesh) for dim in target.dims]
        for extra, missing in zip(self.extra, self.missing, strict=True):
            while extra and missing and extra[0] == missing[0]:
                del extra[0], missing[0]
        self.extra_refs = {ref for extra in self.extra for ref in extra}
        self.destinations: dict[AxisRef, tuple[int, int]] = {}
        self.update_destinations()

    @property
    def rank(self) -> int:
        """Number of dims of the tensor."""
        return len(self.current)

    @property
    def is_at_target(self) -> bool:
        """Return whether no axis is left to remove or to add."""
        return not any(self.extra) and not any(self.missing)

    def update_destinations(self) -> None:
        """Set `destinations` to the dim and the index of each missing ref."""
        self.destinations = {
            ref: (dim, index) for dim, missing in enumerate(self.missing) for index, ref in enumerate(missing)
        }

    def shard_count(self, axes: Sequence[AxisRef]) -> int:
        """Return the number of shards that `axes` split a dim into."""
        return sharded_size(axes, self.mesh)

    def append_axis(self, dim: int, ref: AxisRef) -> None:
        """Shard `dim` further along `ref`, at the minor end of its axes."""
        self.current[dim] = add_or_merge(self.current[dim], ref, self.mesh)

    def fit(self, ref: AxisRef, capacity: int) -> tuple[AxisRef, AxisRef | None, int] | None:
        """Return the major sub-axis of `ref` that fits `capacity`, the rest, and the remaining capacity.

        Return None if no sub-axis fits.
        """
        size = self.mesh.size_of(ref)
        if capacity <= 1 or (size % capacity and capacity % size):
            return None
        if capacity >= size:
            return ref, None, capacity // size
        major, rest = split_at(ref, capacity, self.mesh)
        return major, rest, 1

    def distribute(
        self, available: list[list[AxisRef]], capacity: list[int], *, prepend: bool
    ) -> list[tuple[int, AxisRef]]:
        """Assign available refs to dims that have capacity, as extra axes: (dim, ref) in order of assignment.

        `available` has one list per dim, which may be the same list; assigned refs are removed from it. The refs are
        appended to the extra axes of the dim, or prepended to them in their order.
        """
        assigned: list[tuple[int, AxisRef]] = []
        split: list[AxisRef] = []
        for dim, offered in enumerate(available):
            front, index = 0, 0
            while index < len(offered) and capacity[dim] > 1:
                fitting = self.fit(offered[index], capacity[dim])
                if fitting is None:
                    index += 1
                    continue
                ref, rest, capacity[dim] = fitting
                del offered[index]
                self.extra[dim].insert(front if prepend else len(self.extra[dim]), ref)
                front += 1
                self.extra_refs.add(ref)
                assigned.append((dim, ref))
                if rest is not None:
                    offered.insert(0, rest)
                    split.append(ref)
        if split:
            split.sort(key=order_key)
            self.missing = [split_at_boundaries(missing, split, self.mesh) for missing in self.missing]
        return assigned

    def divides_evenly(self, size: int | None, count: int) -> bool:
        """Return whether a dim of `size` splits into `count` equal shards; a dynamic dim does for powers of two."""
        return count & (count - 1) == 0 if size is None else size % count == 0


def either_divides(first: int, second: int) -> bool:
    """Return whether one of the two numbers divides the other."""
    return first % second == 0 or second % first == 0


def split_at_boundaries(axes: Iterable[AxisRef], boundaries: Sequence[AxisRef], mesh: Mesh) -> list[AxisRef]:
    """Split each ref of `axes` where one of `boundaries` begins or ends inside it; the sub-axes are not merged.

    `boundaries` are sorted by `order_key` and pairwise disjoint. Source: docs/spec/05, 0.2.
    """
    split: list[AxisRef] = []
    for ref in axes:
        rest: AxisRef | None = ref
        for boundary in boundaries[_first_overlapping(ref, boundaries) :]:
            if (
                rest is None
                or not can_coexist(rest, boundary)
                or not overlaps(rest, boundary)
                or contains(boundary, rest)
            ):
                break
            split += (each for each in (prefix_without(rest, boundary), intersection(rest, boundary)) if each)
            rest = suffix_without(rest, boundary, mesh)
        if rest is not None:
            split.append(rest)
    return split


def _first_overlapping(ref: AxisRef, ordered: Sequence[AxisRef]) -> int:
    """Return the index of the first of `ordered` that overlaps `ref`, or the length of `ordered` if none does."""
    index = bisect_left(ordered, order_key(ref), key=order_key)
    for candidate in (index - 1, index):
        if 0 <= candidate < len(ordered) and overlaps(ordered[candidate], ref):
            return candidate
    return len(ordered)


def without_suffix(axes: AxisList, suffix: Iterable[AxisRef]) -> AxisList:
    """Return `axes` without `suffix` at its minor end; the suffix may begin within a ref."""
    left = list(axes)
    for ref in reversed(list(suffix)):
        rest = prefix_without(left.pop(), ref)
        if rest is not None:
            left.append(rest)
    return tuple(left)
