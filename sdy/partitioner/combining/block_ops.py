"""The ops of a block as plain data, and the live bytes of an order of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sdy.cost.lifetimes import LifetimeStep, MemoryUse, memory_uses
from sdy.partitioner.combining.order import DependenceLists, Group, Grouping, scheduled

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Order:
    """The ops in the order in which they run, and the live bytes at each position."""

    groups: Sequence[Group]
    alive: Sequence[MemoryUse]


@dataclass(frozen=True)
class BlockOps(Generic[V]):
    """The ops of a block: their dependences, the values that they read and produce, and the sizes of values."""

    arguments: Sequence[V]
    steps: Sequence[LifetimeStep[V]]
    dependences: DependenceLists
    bytes_of: Callable[[V], int]

    def order(self, groups: Iterable[Group]) -> Order:
        """Return the order in which the ops run with these groups."""
        groups_in_order = scheduled(Grouping(self.dependences, groups))
        return Order(
            groups_in_order,
            memory_uses(self.arguments, [self._combined_step(group) for group in groups_in_order], self.bytes_of),
        )

    def _combined_step(self, group: Group) -> LifetimeStep[V]:
        if len(group) == 1:
            return self.steps[group[0]]
        steps = [self.steps[op] for op in group]
        reads = [value for step in steps for value in step.reads]
        makes = [value for step in steps for value in step.produces]
        return LifetimeStep(
            reads, makes, max(step.inside for step in steps), is_in_place=all(step.is_in_place for step in steps)
        )
