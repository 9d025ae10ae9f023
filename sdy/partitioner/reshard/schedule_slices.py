"""The first phase of the fixed schedule: shard dims further along axes that the target adds.

Source: docs/spec/05, 2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from sdy.model.axis import AxisList, AxisRef
from sdy.model.axis_list import add_or_merge
from sdy.model.axis_moves import AxesPerDim
from sdy.partitioner.reshard.schedule_state import ScheduleState


def add_missing_axes(state: ScheduleState, shape: Sequence[int | None]) -> AxesPerDim:
    """Shard the tensor along the axes that only the target has, as far as the dims have room; return the axes by dim.

    `shape` is the global shape.
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
    length = 0
    while length < min(len(first), len(second)) and first[-1 - length] == second[-1 - length]:
        length += 1
    return list(first[len(first) - length :])
