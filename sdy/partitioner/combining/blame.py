"""Attribute additional live bytes of a combined order to the groups that cause them.

A value that is live at a position of the new order, but not in program order, has one of three causes: a group, or an
op that waits for a group, uses it later; a group produces it earlier; or the op at the position waited for a group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from sdy.partitioner.combining.order import BlockOps, Group, Grouping

V = TypeVar("V")


def blamed(
    program: BlockOps[V], groups: Sequence[Group], order: Sequence[Group], crowded: Iterable[tuple[int, int]]
) -> set[Group]:
    """Return groups that, dissolved, would release enough memory at all crowded positions; at least one.

    `crowded` lists positions in `order`, each with the bytes that exceed the limit there.
    """
    blame = _Blame(program, Grouping(program.dependences, groups), order)
    found: set[Group] = set()
    for position, excess in crowded:
        for first, gain in blame.at(position).most_common():
            if excess > 0:
                found.add(blame.group(first))
                excess -= gain
    return found or {groups[0]}


class _Blame(Generic[V]):
    def __init__(self, program: BlockOps[V], grouping: Grouping, order: Sequence[Group]) -> None:
        self._program = program
        self._grouping = grouping
        self._order = order
        self._cause = _causes(grouping, order)
        self._now = _LiveRanges(program, order)
        self._before = _LiveRanges(program, grouping.alone())

    def group(self, first: int) -> Group:
        """Return the group whose first op is `first`."""
        return self._grouping.members[first]

    def at(self, position: int) -> Counter[int]:
        """Return for each group the bytes that are live at a position because of it."""
        here = self._order[position][0]
        found: Counter[int] = Counter()
        for value in self._now.at(position) - self._before.at(here):
            cause = self._cause_of(value, here)
            if cause is not None:
                found[cause] += self._program.bytes_of(value)
        return found

    def _cause_of(self, value: V, here: int) -> int | None:
        leader = self._grouping.leader
        if self._before.last.get(value, here) < here:
            return self._cause[leader[self._order[self._now.last[value]][0]]]
        producer = self._before.first[value]
        is_in_group = producer >= 0 and leader[producer] in self._grouping.members
        return leader[producer] if is_in_group else self._cause[leader[here]]


class _LiveRanges(Generic[V]):
    """The position that produces each value, -1 for arguments, and the last position that uses it, if any."""

    def __init__(self, program: BlockOps[V], order: Sequence[Group]) -> None:
        self.first: dict[V, int] = dict.fromkeys(program.arguments, -1)
        self.last: dict[V, int] = {}
        for position, group in enumerate(order):
            for op in group:
                step = program.steps[op]
                self.first.update(dict.fromkeys(step.produces, position))
                self.last.update(dict.fromkeys(step.reads, position))

    def at(self, position: int) -> set[V]:
        """Return the values that are live at a position."""
        last = self.last
        return {value for value, first in self.first.items() if first <= position <= last.get(value, first)}


def _causes(grouping: Grouping, order: Sequence[Group]) -> dict[int, int | None]:
    """Return for each op outside groups the group it waits for: that of its latest dependence, transitively."""
    cause: dict[int, int | None] = {}
    position_of = {first: position for position, (first, *_) in enumerate(order)}
    for first, *_ in order:
        if first in grouping.members:
            cause[first] = first
        else:
            latest = max(grouping.dependences[first], key=position_of.__getitem__, default=None)
            cause[first] = None if latest is None else cause[latest]
    return cause
