"""Which groups are why more bytes are alive at some place of an order than in the order of the program.

A value that is alive there and was not before is read later: by a group, or by an op that waits for one, maybe through
others. Or it is made earlier by a group. Or what runs at the place is late, because it waited for a group itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from sdy.partitioner.combining.order import Group, Grouping
from sdy.partitioner.combining.program import Program

V = TypeVar("V")


def blamed(
    program: Program[V], groups: Sequence[Group], order: Sequence[Group], crowded: Iterable[tuple[int, int]]
) -> set[Group]:
    """The groups without which there would be enough memory at all crowded places, as far as can be told.

    `crowded` are places in `order`, each with the bytes that are too many there. It is at least one group.
    """
    blame = _Blame(program, Grouping(program.needs, groups), order)
    found: set[Group] = set()
    for place, too_much in crowded:
        for first, gain in blame.at(place).most_common():
            if too_much > 0:
                found.add(blame.group(first))
                too_much -= gain
    return found or {groups[0]}


class _Blame(Generic[V]):
    def __init__(self, program: Program[V], grouping: Grouping, order: Sequence[Group]) -> None:
        self._program = program
        self._grouping = grouping
        self._order = order
        self._cause = _causes(grouping, order)
        self._now = _Lives(program, order)
        self._before = _Lives(program, grouping.alone())

    def group(self, first: int) -> Group:
        """The group of that name."""
        return self._grouping.members[first]

    def at(self, place: int) -> Counter[int]:
        """The bytes that are alive at a place because of each group."""
        here = self._order[place][0]
        found: Counter[int] = Counter()
        for value in self._now.at(place) - self._before.at(here):
            cause = self._cause_of(value, here)
            if cause is not None:
                found[cause] += self._program.bytes_of(value)
        return found

    def _cause_of(self, value: V, here: int) -> int | None:
        leader = self._grouping.leader
        if self._before.last.get(value, here) < here:
            return self._cause[leader[self._order[self._now.last[value]][0]]]
        maker = self._before.first[value]
        is_in_group = maker >= 0 and leader[maker] in self._grouping.members
        return leader[maker] if is_in_group else self._cause[leader[here]]


class _Lives(Generic[V]):
    """The place of an order that makes each value, -1 for arguments; and the last one that reads it, if any does."""

    def __init__(self, program: Program[V], order: Sequence[Group]) -> None:
        self.first: dict[V, int] = dict.fromkeys(program.arguments, -1)
        self.last: dict[V, int] = {}
        for place, group in enumerate(order):
            for op in group:
                step = program.steps[op]
                self.first.update(dict.fromkeys(step.produces, place))
                self.last.update(dict.fromkeys(step.reads, place))

    def at(self, place: int) -> set[V]:
        """The values that are alive at a place."""
        last = self.last
        return {value for value, first in self.first.items() if first <= place <= last.get(value, first)}


def _causes(grouping: Grouping, order: Sequence[Group]) -> dict[int, int | None]:
    """Of each lone op the group that it comes after: the last of what it needs, or what that comes after in turn."""
    cause: dict[int, int | None] = {}
    place_of = {first: place for place, (first, *_) in enumerate(order)}
    for first, *_ in order:
        if first in grouping.members:
            cause[first] = first
        else:
            latest = max(grouping.needs[first], key=place_of.__getitem__, default=None)
            cause[first] = None if latest is None else cause[latest]
    return cause
