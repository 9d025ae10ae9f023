"""How many bytes are alive while steps run one after the other, each of which reads some values and makes others.

A value lives from the step that makes it to the last one that reads it; one that nobody reads, while it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class LifetimeStep(Generic[V]):
    """What runs at once. `inside` are the most bytes that its regions have alive, with what they are given.

    `gives` is what they are given of what the step reads; `in_place`: what the step makes comes in the place of that.
    """

    reads: Sequence[V]
    makes: Sequence[V]
    inside: int = 0
    gives: Sequence[V] = ()
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes while one step runs: of what is beside its inside, of all that is there around the step, and the most."""

    beside: int
    around: int
    most: int


def memory_uses(
    arguments: Iterable[V], steps: Sequence[LifetimeStep[V]], bytes_of: Callable[[V], int]
) -> list[MemoryUse]:
    """One for each step; `arguments` live from the start, and to the end where no step reads them.

    What a step gives its inside, and no later step reads, is what the inside starts with: it is not there twice.
    """
    last = {value: number for number, step in enumerate(steps) for value in step.reads}
    dying = [0] * len(steps)
    for value, number in last.items():
        dying[number] += bytes_of(value)
    alive = sum(map(bytes_of, arguments))
    found: list[MemoryUse] = []
    for number, (step, dead) in enumerate(zip(steps, dying, strict=True)):
        made = unread = 0
        for value in step.makes:
            size = bytes_of(value)
            made += size
            if value not in last:
                unread += size
        given = sum(bytes_of(value) for value in {*step.gives} if last.get(value) == number)
        around = alive + made - (given if step.in_place else 0)
        found.append(MemoryUse(alive - given, around, max(around, alive - given + step.inside)))
        alive += made - dead - unread
    return found
