"""The bytes that are alive while steps run one after the other, each of which reads and produces values.

A value lives from the step that produces it to the last one that reads it; a value without readers, during that step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class LifetimeStep(Generic[V]):
    """One step. `inside` is the peak of the bytes alive in its regions, including their inputs.

    `region_inputs` are the values among `reads` that its regions take as inputs. `overwritten` are the values among
    `reads` whose memory the results take over, unless a later step reads them.
    """

    reads: Sequence[V]
    produces: Sequence[V]
    inside: int = 0
    region_inputs: Sequence[V] = ()
    overwritten: Sequence[V] = ()


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The bytes alive during one step.

    `beside` is what is alive next to its regions, `around` what is alive around the step without its regions, and
    `most` the peak.
    """

    beside: int
    around: int
    most: int


def memory_uses(
    arguments: Iterable[V], steps: Sequence[LifetimeStep[V]], bytes_of: Callable[[V], int]
) -> list[MemoryUse]:
    """Return the memory use during each step. Arguments live from the start, and to the end if no step reads them.

    A region input that no later step reads is counted once, as part of the regions.
    """
    last = {value: number for number, step in enumerate(steps) for value in step.reads}
    dying = [0] * len(steps)
    for value, number in last.items():
        dying[number] += bytes_of(value)
    alive = sum(map(bytes_of, arguments))
    uses: list[MemoryUse] = []
    for number, (step, dead_bytes) in enumerate(zip(steps, dying, strict=True)):
        produced_bytes = unread_bytes = 0
        for value in step.produces:
            size = bytes_of(value)
            produced_bytes += size
            if value not in last:
                unread_bytes += size
        freed = sum(bytes_of(value) for value in {*step.region_inputs} if last.get(value) == number)
        reused = sum(bytes_of(value) for value in {*step.overwritten} if last.get(value) == number)
        around = alive + produced_bytes - reused
        uses.append(MemoryUse(alive - freed, around, max(around, alive - freed + step.inside)))
        alive += produced_bytes - dead_bytes - unread_bytes
    return uses
