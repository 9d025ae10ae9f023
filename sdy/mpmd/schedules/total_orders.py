"""Schedules that list all units of a mesh in order: published ones that Shardy lacks. Source: docs/spec/08, 3.13.

A schedule says which kind of work comes next, such as a forward unit of the first stage of the mesh; each is of the
next microbatch of its kind. What does not exist is left out: the backward unit of the first stage is not split, because
nothing waits for it. A unit with both gradients has the place of the gradient that is transferred.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import similar_name_hint
from sdy.mpmd.schedules.builtin import SCHEDULES, Before, Unit


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
