"""The second phase of the fixed schedule: a permute that exchanges shards between devices.

Source: docs/spec/05, 2.5.
"""

from __future__ import annotations

from sdy.model.axis import AxisRef
from sdy.model.axis_list import extended
from sdy.partitioner.reshard.axis_alignment import without_suffix
from sdy.partitioner.reshard.schedule_state import ScheduleState, either_divides


def needs_permute(state: ScheduleState) -> bool:
    """Return whether a permute puts an axis in position.

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
