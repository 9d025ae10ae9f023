"""Schedules of pipelines by name: rules on two units of a mesh, and orders of all its units.

Shardy's are predicates that say which of two units runs first. Published ones that Shardy lacks list all units of a
mesh in order: such a schedule says which kind of work comes next, such as a forward unit of the first stage of the
mesh; each is of the next microbatch of its kind. What does not exist is left out: the backward unit of the first stage
is not split, because nothing waits for it. A unit with both gradients has the place of the gradient that is
transferred. Source: docs/spec/08, 3.2 and 3.13.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import floor
from typing import NamedTuple

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint


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


class Kind(NamedTuple):
    """The work of one microbatch: `F` forward, `A` backward, `W` the gradients that nothing waits for.

    `chunk` is the position of the stage among those of the mesh, in ascending order.
    """

    work: str
    chunk: int = 0


class MeshPart(NamedTuple):
    """A mesh of a pipeline: its position, and the numbers of meshes, of its stages and of microbatches."""

    position: int
    meshes: int
    chunks: int
    microbatches: int


@dataclass(frozen=True)
class TotalOrder:
    """A schedule that lists the kinds of work of each mesh; if `chunks` is given, each mesh has so many stages.

    `splits` is whether it is meant for backward units that are split.
    """

    rule: Callable[[MeshPart], Iterator[Kind]]
    chunks: int | None = None
    splits: bool = True

    def ordered(self, units: Sequence[Unit], mesh_count: int) -> list[Unit]:
        """Return the units of one mesh in order. Raises: SdyError SDY-M010 if the mesh has too few or many stages."""
        stages = sorted({unit.stage or 0 for unit in units})
        if self.chunks not in (None, len(stages)):
            message = f"mesh {units[0].mesh} has {len(stages)} stages, but this schedule needs {self.chunks}"
            raise SdyError(Diagnostic("SDY-M010", message, hint="assign the stages so, or choose another schedule"))
        waiting: dict[Kind, deque[Unit]] = defaultdict(deque)
        for unit in sorted(units, key=lambda each: each.counter):
            work = "W" if unit.is_weight_gradient else "A" if unit.is_backward else "F"
            waiting[Kind(work, stages.index(unit.stage or 0))].append(unit)
        part = MeshPart(units[0].mesh_index, mesh_count, len(stages), len({unit.counter for unit in units}))
        found = [waiting[kind].popleft() for kind in self.rule(part) if waiting[kind]]
        rest = [unit for left in waiting.values() for unit in left]
        return found + sorted(rest, key=lambda unit: (unit.is_weight_gradient, unit.counter, unit.stage or 0))


def _zb_h1(part: MeshPart) -> Iterator[Kind]:
    """Yield the order with the peak memory of 1F1B on the first mesh, and a third of its bubble."""
    for _ in range(part.meshes - part.position):
        yield Kind("F")
    for _ in range(part.position):
        yield Kind("A")
        yield Kind("F")
    for _ in range(part.microbatches):
        yield from map(Kind, "AWF")


def _zb_h2(part: MeshPart) -> Iterator[Kind]:
    """Yield the order without a bubble, with twice the memory."""
    for _ in range(2 * (part.meshes - part.position) - 1):
        yield Kind("F")
    for number in range(part.microbatches):
        yield Kind("A")
        if number >= 2 * part.position:
            yield Kind("W")
        yield Kind("F")


def _interleaved(part: MeshPart) -> Iterator[Kind]:
    """Yield the order in which microbatches pass the meshes in rounds, once per stage of a mesh.

    A round has as many microbatches as there are meshes, or a few more; the first rounds are the largest.
    """
    rounds = max(1, part.microbatches // part.meshes)
    sizes = [(part.microbatches + rounds - 1 - number) // rounds for number in range(rounds)]
    forward = [chunk for size in sizes for chunk in range(part.chunks) for _ in range(size)]
    warm_up = part.meshes - 1 - part.position  # 1F1B
    if part.chunks > 1:
        warm_up = (part.chunks - 1) * sizes[0] + 2 * warm_up
    for chunk in forward[:warm_up]:
        yield Kind("F", chunk)
    for number, chunk in enumerate(forward):
        yield from (Kind("F", each) for each in forward[warm_up + number : warm_up + number + 1])
        yield Kind("A", part.chunks - 1 - chunk)
        yield Kind("W", part.chunks - 1 - chunk)


def _dual_pipe_v(part: MeshPart) -> Iterator[Kind]:
    """Yield the order in which the stages go down the meshes and up again, so that each mesh has two."""
    first, second = 0, 1
    after = part.meshes - 1 - part.position
    for _ in range(2 * after):
        yield Kind("F", first)
    for _ in range(part.position + 1):
        yield Kind("F", first)
        yield Kind("F", second)
    for _ in range(after):
        yield from (Kind("A", second), Kind("W", second), Kind("F", second))
    for _ in range(part.microbatches - 2 * part.meshes + part.position + 1):
        yield from (Kind("F", first), Kind("A", second), Kind("W", second))
        yield from (Kind("F", second), Kind("A", first), Kind("W", first))
    for _ in range(after):
        yield from (Kind("A", second), Kind("W", second))
        yield from (Kind("F", second), Kind("A", first), Kind("W", first))
    for number in range(part.position + 1):
        delays = number >= (part.position + 1) // 2
        for chunk, delays_on_odd in ((second, True), (first, False)):
            yield Kind("A", chunk)
            if not (delays and delays_on_odd == bool(part.position % 2)):
                yield Kind("W", chunk)
    for _ in range(after):
        yield Kind("A", first)


TOTAL_ORDERS: dict[str, TotalOrder] = {
    "Interleaved1F1B": TotalOrder(_interleaved, splits=False),
    "ZB-H1": TotalOrder(_zb_h1, chunks=1),
    "ZB-H2": TotalOrder(_zb_h2, chunks=1),
    "DualPipeV": TotalOrder(_dual_pipe_v, chunks=2),
}


def schedule_named(name: str) -> Before | TotalOrder:
    """Return the schedule of a name, in any case, with or without `builtin:`. Raises: SdyError SDY-M010."""
    known: dict[str, Before | TotalOrder] = {**SCHEDULES, **TOTAL_ORDERS}
    wanted = name.removeprefix("builtin:").lower()
    found = next((schedule for each, schedule in known.items() if each.lower() == wanted), None)
    if found is None:
        hint = similar_name_hint(name, known) or f"schedules: {', '.join(known)}"
        raise SdyError(Diagnostic("SDY-M010", f"unknown schedule {name}", hint=hint))
    return found


def splits_backward(name: str) -> bool:
    """Return whether a schedule is meant for backward units that are split into two. Raises: SdyError SDY-M010."""
    schedule = schedule_named(name)
    if isinstance(schedule, TotalOrder):
        return schedule.splits
    return name.removeprefix("builtin:").lower().startswith("zerobubble")


def merges_late(name: str) -> bool:
    """Return whether inferred fragments must be merged after scheduling. Raises: SdyError SDY-M010.

    Merged before it, a fragment could join two stages of a mesh, which would then wait for each other.
    """
    schedule = schedule_named(name)
    return isinstance(schedule, TotalOrder) and (schedule.chunks or 1) > 1
