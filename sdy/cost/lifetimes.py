"""The bytes that are alive while steps run one after the other, each of which reads and produces values.

A value lives from the step that produces it to the last one that reads it; a value without readers, during that step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

V = TypeVar("V")


class LifetimeStep(NamedTuple, Generic[V]):
    """One step. `inside` is the peak of the bytes alive in its regions, including their inputs.

    `region_inputs` are the values among `reads` that its regions take as inputs. `overwritten` are the values among
    `reads` whose memory the results take over, unless a later step reads them.

    The step is fused if its results are not stored: what it reads lives until their last read. A step in place stores
    each result in the memory of a value of the same size that is read for the last time.

    `copied` are the values among `reads` that are copied first, to `copied_bytes`, so that the step reads the copies.
    `uncopied_bytes` are those of results before they are copied; 0 if they are not. `scratch` are further bytes that
    the step needs while it runs.
    """

    reads: Sequence[V]
    produces: Sequence[V]
    inside: int = 0
    region_inputs: Sequence[V] = ()
    overwritten: Sequence[V] = ()
    is_fused: bool = False
    is_in_place: bool = False
    copied: Sequence[V] = ()
    copied_bytes: int = 0
    uncopied_bytes: int = 0
    scratch: int = 0


class MemoryUse(NamedTuple):
    """The bytes alive during one step.

    `beside` is what is alive next to its regions, `around` what is alive around the step without its regions but with
    its copies, and `most` the peak.
    """

    beside: int
    around: int
    most: int


@dataclass(frozen=True, slots=True)
class Lifetimes(Generic[V]):
    """For each step, the values that are read for the last time, and those whose memory the results take over.

    `temporary` are the bytes that a step needs beside the values alive around it, for its copies.
    """

    dying: Sequence[Sequence[V]]
    reused: Sequence[Sequence[V]]
    temporary: Sequence[int]


def last_reads(steps: Sequence[LifetimeStep[V]]) -> dict[V, int]:
    """Return the number of the last step that reads each value, directly or in place of the result of a fused step."""
    last: dict[V, int] = {}
    for number in range(len(steps) - 1, -1, -1):
        step = steps[number]
        end = max((last.get(value, number) for value in step.produces), default=number) if step.is_fused else number
        for value in step.reads:
            if last.get(value, -1) < end:
                last[value] = end
    return last


def lifetimes(
    arguments: Iterable[V],
    steps: Sequence[LifetimeStep[V]],
    bytes_of: Callable[[V], int],
    last: Mapping[V, int] | None = None,
) -> Lifetimes[V]:
    """Return the ends of the lives of all values. An argument is overwritten only if its step names it.

    `last` are the last reads of the steps, if they are known.
    """
    dying: list[list[V]] = [[] for _ in steps]
    for value, number in (last_reads(steps) if last is None else last).items():
        dying[number].append(value)
    kept, ends = {*arguments}, list(zip(steps, dying, strict=True))
    reused = [
        _reused(step, dead, kept, bytes_of) if dead and (step.is_in_place or step.overwritten) else ()
        for step, dead in ends
    ]
    temporary = [
        _temporary(step, dead, kept, bytes_of) if step.copied or step.uncopied_bytes else step.scratch
        for step, dead in ends
    ]
    return Lifetimes(dying, reused, temporary)


def _temporary(step: LifetimeStep[V], dying: Sequence[V], kept: AbstractSet[V], bytes_of: Callable[[V], int]) -> int:
    """Return the bytes that a step needs beside its operands and results.

    First its operands are copied, then it runs on the copies, then its results are copied. What is read for the last
    time is dead after it was copied. Memory that results have before the step is idle until they are copied to it.
    """
    new = sum(bytes_of(value) for value in step.produces if value not in kept)
    before = step.copied_bytes - new
    during = step.scratch + step.copied_bytes - sum(bytes_of(value) for value in step.copied if value in dying)
    if not step.uncopied_bytes:
        return max(0, before, during)
    idle = step.uncopied_bytes - new
    after = step.uncopied_bytes - sum(map(bytes_of, dying))
    return max(0, before, during + idle - min(idle, step.copied_bytes), after)


def _reused(step: LifetimeStep[V], dying: Sequence[V], kept: set[V], bytes_of: Callable[[V], int]) -> list[V]:
    found = list(dict.fromkeys(value for value in step.overwritten if value in dying))
    if step.is_in_place:
        free = [value for value in dying if value not in kept and value not in found]
        for result in step.produces:
            size = 0 if result in kept else bytes_of(result)
            value = next((value for value in free if bytes_of(value) == size), None) if size else None
            if value is not None:
                free.remove(value)
                found.append(value)
    return found


def inside_regions(step: LifetimeStep[V], dying: Sequence[V], kept: AbstractSet[V]) -> set[V]:
    """Return the values that are alive around a step and counted inside its regions too.

    These are the region inputs that no later step reads. The results of a loop have the memory of its inputs.
    """
    found = {*step.region_inputs}.intersection(dying)
    return found.union(result for result in step.produces if result in kept) if step.overwritten else found


def memory_uses(
    arguments: Sequence[V],
    steps: Sequence[LifetimeStep[V]],
    bytes_of: Callable[[V], int],
    ends: Lifetimes[V] | None = None,
) -> list[MemoryUse]:
    """Return the memory use during each step. Arguments live from the start, and to the end if no step reads them.

    A region input that no later step reads is counted once, as part of the regions. A value that is both an argument
    and produced by a step has its memory from the start. `ends` are the ends of all lives, if they are known.
    """
    ends = lifetimes(arguments, steps, bytes_of) if ends is None else ends
    read = {value for dead in ends.dying for value in dead}
    kept = {*arguments}
    alive = sum(map(bytes_of, arguments))
    uses: list[MemoryUse] = []
    for step, dying, reused, temporary in zip(steps, ends.dying, ends.reused, ends.temporary, strict=True):
        produced_bytes = dead_bytes = freed = 0
        for value in step.produces:
            size = 0 if value in kept else bytes_of(value)
            produced_bytes += size
            if value not in read:
                dead_bytes += size
        for value in dying:
            dead_bytes += bytes_of(value)
        around = alive + produced_bytes + temporary
        if reused:
            around -= sum(map(bytes_of, reused))
        if step.region_inputs or step.overwritten:
            freed = sum(map(bytes_of, inside_regions(step, dying, kept)))
        uses.append(MemoryUse(alive - freed, around, max(around, alive - freed + step.inside)))
        alive += produced_bytes - dead_bytes
    return uses
