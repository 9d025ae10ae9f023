"""Schedule ops when some of them are combined into groups.

Ops are the numbers 0, 1, ... in program order; `dependences[op]` lists the earlier ops that must precede it. The ops of
a group run at once; the group is identified by its first op.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

Group = tuple[int, ...]
DependenceLists = Sequence[Sequence[int]]


class Grouping:
    """The ops of a program with some of them in groups, and the dependences of each group or single op."""

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
