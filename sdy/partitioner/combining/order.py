"""The ops of a block as plain data, their order if some of them are combined into groups, and its live bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Generic, TypeVar

from sdy.cost.lifetimes import LifetimeStep, MemoryUse, memory_uses

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


Group = tuple[int, ...]
DependenceLists = Sequence[Sequence[int]]


class Grouping:
    """The ops of a program with some of them in groups, and the dependences of each group or single op.

    Ops are the numbers 0, 1, ... in program order; `dependences[op]` lists the earlier ops that must precede it. The
    ops of a group run at once; the group is identified by its first op.
    """

    def __init__(self, dependences: DependenceLists, groups: Iterable[Group]) -> None:
        self.members: dict[int, Group] = {group[0]: group for group in groups}
        self.leader = list(range(len(dependences)))  # for each op, the first op of its group
        for first, group in self.members.items():
            for op in group:
                self.leader[op] = first
        self.dependences = [
            self._dependences_of(op, dependences) if op == first else () for op, first in enumerate(self.leader)
        ]

    def of(self, first: int) -> Group:
        """Return the group with this first op, or the op alone."""
        return self.members.get(first, (first,))

    def alone(self) -> list[Group]:
        """Return all ops in program order, each alone."""
        return [(op,) for op in range(len(self.leader))]

    def _dependences_of(self, first: int, dependences: DependenceLists) -> Sequence[int]:
        if not self.members:
            return dependences[first]
        found = {self.leader[need] for op in self.members.get(first, (first,)) for need in dependences[op]}
        return sorted(found)


def scheduled(grouping: Grouping) -> list[Group]:
    """Return all ops in an order that respects dependences and otherwise stays close to program order.

    A group runs right before its first user, or as soon as its operands are ready if an op already waits for it. The
    dependences of groups must be acyclic, and the ops of a group independent of each other.
    """
    return _ListScheduler(grouping).run() if grouping.members else grouping.alone()


class _ListScheduler:
    """List scheduling: runs requested ops as soon as their dependences are done."""

    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping
        self._missing = [len(needed) for needed in grouping.dependences]
        self._waiting: list[list[int]] = [[] for _ in grouping.leader]
        for first, needed in enumerate(grouping.dependences):
            for each in needed:
                self._waiting[each].append(first)
        self._requested: set[int] = set()
        self._ready: list[int] = []
        self._done: list[Group] = []

    def run(self) -> list[Group]:
        """Return the order; the last op stays last, since it is the terminator of the block."""
        groups, leader = self._grouping.members, self._grouping.leader
        for op, first in enumerate(leader[:-1]):
            if op == first and op not in groups:
                self._request(op)
        for first in (*groups, leader[-1]):
            self._request(first)
        return self._done

    def _request(self, first: int) -> None:
        """Request an op or group and the groups that it depends on; run those whose dependences are done."""
        pending = [first]
        while pending:
            requested = pending.pop()
            if requested in self._requested:
                continue
            self._requested.add(requested)
            if not self._missing[requested]:
                heappush(self._ready, requested)
            pending += [each for each in self._grouping.dependences[requested] if each in self._grouping.members]
        while self._ready:
            self._finish(heappop(self._ready))

    def _finish(self, first: int) -> None:
        self._done.append(self._grouping.of(first))
        for other in self._waiting[first]:
            self._missing[other] -= 1
            if not self._missing[other] and other in self._requested:
                heappush(self._ready, other)
