"""The ops of a block, and how many bytes are alive when they run in some order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sdy.cost.lifetimes import LifetimeStep, MemoryUse, memory_uses
from sdy.partitioner.combining.order import Group, Grouping, Needs, scheduled

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Order:
    """The ops in the order in which they run, and how many bytes are alive then."""

    groups: Sequence[Group]
    alive: Sequence[MemoryUse]


@dataclass(frozen=True)
class Program(Generic[V]):
    """The ops of a block: what each has to come after, what it reads and makes, and how large that is."""

    arguments: Sequence[V]
    steps: Sequence[LifetimeStep[V]]
    needs: Needs
    bytes_of: Callable[[V], int]

    def order(self, groups: Iterable[Group]) -> Order:
        """What order the ops run in where some run at once."""
        in_turn = scheduled(Grouping(self.needs, groups))
        return Order(in_turn, memory_uses(self.arguments, [self._together(group) for group in in_turn], self.bytes_of))

    def _together(self, group: Group) -> LifetimeStep[V]:
        if len(group) == 1:
            return self.steps[group[0]]
        steps = [self.steps[op] for op in group]
        reads = [value for step in steps for value in step.reads]
        makes = [value for step in steps for value in step.produces]
        return LifetimeStep(reads, makes, max(step.inside for step in steps))
