"""In which order ops run, where some of them run at once.

Ops are the numbers 0, 1, ... in the order of the program; `needs[op]` are the ops before it that it has to come after.
Those that run at once are a group, named by its first op.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

Group = tuple[int, ...]
Needs = Sequence[Sequence[int]]


class Grouping:
    """The ops of a program with some of them in groups: what each group or lone op has to come after."""

    def __init__(self, needs: Needs, groups: Iterable[Group]) -> None:
        self.members: dict[int, Group] = {group[0]: group for group in groups}
        self.leader = list(range(len(needs)))  # of each op, the first of those that run at once with it
        for first, group in self.members.items():
            for op in group:
                self.leader[op] = first
        self.needs = [self._needs_of(op, needs) if op == first else () for op, first in enumerate(self.leader)]

    def of(self, first: int) -> Group:
        """The ops that run at once with the one that names them."""
        return self.members.get(first, (first,))

    def alone(self) -> list[Group]:
        """All ops in the order of the program, each alone."""
        return [(op,) for op in range(len(self.leader))]

    def _needs_of(self, first: int, needs: Needs) -> Sequence[int]:
        if not self.members:
            return needs[first]
        found = {self.leader[need] for op in self.members.get(first, (first,)) for need in needs[op]}
        return sorted(found)


def scheduled(grouping: Grouping) -> list[Group]:
    """All ops, each after those that it needs, as they come in the program as far as that goes.

    A group runs right before the first op that needs it, or as soon as it can where some op waits for it by then. The
    groups may not need each other in a circle, and nothing in one may need another op of the same one.
    """
    return _Schedule(grouping).run() if grouping.members else grouping.alone()


class _Schedule:
    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping
        self._missing = [len(needed) for needed in grouping.needs]
        self._waited_for_by: list[list[int]] = [[] for _ in grouping.leader]
        for first, needed in enumerate(grouping.needs):
            for each in needed:
                self._waited_for_by[each].append(first)
        self._wanted: set[int] = set()
        self._ready: list[int] = []
        self._done: list[Group] = []

    def run(self) -> list[Group]:
        """The last op comes last: it ends a block."""
        groups, leader = self._grouping.members, self._grouping.leader
        for op, first in enumerate(leader[:-1]):
            if op == first and op not in groups:
                self._want(op)
        for first in (*groups, leader[-1]):
            self._want(first)
        return self._done

    def _want(self, first: int) -> None:
        """Run an op or group, and the groups that it needs; it waits where they have to wait for ops to come."""
        pending = [first]
        while pending:
            wanted = pending.pop()
            if wanted in self._wanted:
                continue
            self._wanted.add(wanted)
            if not self._missing[wanted]:
                heappush(self._ready, wanted)
            pending += [each for each in self._grouping.needs[wanted] if each in self._grouping.members]
        while self._ready:
            self._finish(heappop(self._ready))

    def _finish(self, first: int) -> None:
        self._done.append(self._grouping.of(first))
        for other in self._waited_for_by[first]:
            self._missing[other] -= 1
            if not self._missing[other] and other in self._wanted:
                heappush(self._ready, other)
