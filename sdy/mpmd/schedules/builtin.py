"""Shardy's schedules of pipelines: predicates that say which of two units of a mesh runs first.

The names and the rules are those of docs/spec/08, 3.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import floor
from typing import NamedTuple

from sdy.diagnostics.diagnostic import Diagnostic, SdyError


class Unit(NamedTuple):
    """A scheduling unit: all forward or all backward work of one microbatch on one mesh, or a part of it.

    `mesh_index` is the position of the mesh among those that are scheduled.
    """

    mesh: str
    mesh_index: int
    counter: int
    is_backward: bool
    is_weight_gradient: bool = False
    stage: int | None = None


# Returns whether the first unit must run before the second, on a pipeline of so many meshes.
Before = Callable[[Unit, Unit, int], bool]


def _never(_first: Unit, _second: Unit, _mesh_count: int) -> bool:
    return False


def _gpipe(first: Unit, second: Unit, _mesh_count: int) -> bool:
    if first.is_backward == second.is_backward:
        return first.counter < second.counter
    return second.is_backward


def _one_forward_one_backward(first: Unit, second: Unit, mesh_count: int) -> bool:
    if first.is_backward == second.is_backward:
        return first.counter < second.counter
    return _alternates(first, second, mesh_count)


def _alternates(first: Unit, second: Unit, mesh_count: int) -> bool:
    """Return whether a forward and a backward unit follow each other in the steady state of 1F1B."""
    distance = mesh_count - first.mesh_index
    if first.is_backward:
        return first.counter == second.counter - distance
    return first.counter == second.counter + distance - 1


def _gpipe_but_last_mesh(first: Unit, second: Unit, mesh_count: int) -> bool:
    is_last = first.mesh_index == mesh_count - 1
    return (_one_forward_one_backward if is_last else _gpipe)(first, second, mesh_count)


def _zero_bubble_h1(first: Unit, second: Unit, mesh_count: int) -> bool:
    difference, index = second.counter - first.counter, first.mesh_index
    if first.is_backward and not second.is_backward:
        if not first.is_weight_gradient:
            return difference == mesh_count - index
        return difference == mesh_count
    if not first.is_backward:
        is_forward_pair = not second.is_backward
        return not is_forward_pair and not second.is_weight_gradient and _alternates(first, second, mesh_count)
    if first.is_weight_gradient == second.is_weight_gradient:
        return False
    return difference == index + 1 if first.is_weight_gradient else difference == -index


def _zero_bubble_h2(latency: float) -> Before:
    """Return the predicate for transfers that take `latency` times as long as a forward unit."""

    def before(first: Unit, second: Unit, mesh_count: int) -> bool:
        def warm_up(index: int) -> int:
            return floor(2 * (mesh_count - index) - 1 + 2 * (mesh_count - index - 1) * latency)

        forwards, gradients = warm_up(first.mesh_index), warm_up(mesh_count - 1 - first.mesh_index)
        difference = second.counter - first.counter
        if not first.is_backward:
            if not second.is_backward:
                return False
            if first.counter < forwards:
                return True
            return not second.is_weight_gradient and difference == 1 - forwards
        if not second.is_backward:
            return not first.is_weight_gradient and second.counter >= forwards and difference == forwards
        if first.is_weight_gradient == second.is_weight_gradient:
            return False
        return difference == gradients if first.is_weight_gradient else difference == 1 - gradients

    return before


def _circular(*, reverses_backward: bool) -> Before:
    """Return the predicate of a pipeline whose microbatches pass the meshes several times, in groups."""

    def before(first: Unit, second: Unit, mesh_count: int) -> bool:
        if first.stage is None or second.stage is None:
            return False
        if first.is_backward != second.is_backward:
            return second.is_backward
        stages = first.stage, second.stage
        if first.is_backward and not reverses_backward:
            stages = second.stage, first.stage
        keys = [
            (unit.counter // mesh_count, stage, unit.counter)
            for unit, stage in zip((first, second), stages, strict=True)
        ]
        return keys[0] > keys[1] if first.is_backward and reverses_backward else keys[0] < keys[1]

    return before


_NUMBER = re.compile(r"[0-9].*")


def _parallel_with_wrap_around(first: Unit, second: Unit, _mesh_count: int) -> bool:
    """Order the forward units of mesh p: microbatches p, p - 1, and so on, then from the last one down to p + 1."""
    found = _NUMBER.search(first.mesh)
    if found is None or not found[0].isdecimal() or first.is_backward or second.is_backward:
        message = f"mesh {first.mesh} needs a number at its end and forward fragments only for this schedule"
        raise SdyError(Diagnostic("SDY-M010", message, hint="choose another schedule, or rename the meshes"))
    start = int(found[0])
    if start in (first.counter, second.counter):
        return first.counter == start
    if (first.counter > start) == (second.counter > start):
        return first.counter > second.counter
    return first.counter < second.counter


SCHEDULES: dict[str, Before] = {
    "none": _never,
    "GPipe": _gpipe,
    "1F1B": _one_forward_one_backward,
    "GPipeBut1F1BForLastMesh": _gpipe_but_last_mesh,
    "ZeroBubbleH1": _zero_bubble_h1,
    "ZeroBubbleH2ZeroTxLatency": _zero_bubble_h2(0),
    "ZeroBubbleH2HalfTxLatency": _zero_bubble_h2(0.5),
    "ZeroBubbleH2FullTxLatency": _zero_bubble_h2(1),
    "Circular": _circular(reverses_backward=False),
    "CircularWithReversedBackward": _circular(reverses_backward=True),
    "ParallelPipelinesWithWrapAround": _parallel_with_wrap_around,
}
