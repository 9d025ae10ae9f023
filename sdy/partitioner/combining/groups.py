"""Which collectives may run at once: those that are alike, of which none needs another one.

An op is on level n of a kind of collectives where the longest way to it passes n of them. Those of a kind on one level
need each other on no way, and there are no fewer levels than what any order of the program asks for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from sdy.partitioner.combining.order import Group, Grouping, Needs, scheduled


@dataclass(frozen=True, slots=True)
class Candidate:
    """A collective: its op, what it has in common with those that it may meet, and the bytes of its results."""

    op: int
    likeness: Hashable
    bytes: int


def largest_groups(needs: Needs, candidates: Sequence[Candidate], most_bytes: int) -> list[Group]:
    """Groups of at least two, as large as may be, whose results have no more than `most_bytes`.

    Likenesses are taken in turn, those with the most collectives first: groups of one decide what groups of the next
    one have to come after.
    """
    alike: dict[Hashable, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.bytes <= most_bytes:
            alike.setdefault(candidate.likeness, []).append(candidate)
    groups: list[Group] = []
    for several in sorted(alike.values(), key=lambda several: (-len(several), several[0].op)):
        if len(several) > 1:
            groups += _groups_of(needs, groups, several, most_bytes)
    return groups


def halves(group: Group) -> list[Group]:
    """The earlier and the later ops of a group, where they are still several."""
    middle = (len(group) + 1) // 2
    return [half for half in (group[:middle], group[middle:]) if len(half) > 1]


def _groups_of(needs: Needs, groups: Sequence[Group], alike: Sequence[Candidate], most_bytes: int) -> Iterator[Group]:
    levels = _levels(Grouping(needs, groups), {candidate.op for candidate in alike})
    by_level: dict[int, list[Candidate]] = {}
    for candidate in alike:
        by_level.setdefault(levels[candidate.op], []).append(candidate)
    for level in by_level.values():
        for part in _parts(level, most_bytes):
            if len(part) > 1:
                yield tuple(candidate.op for candidate in part)


def _levels(grouping: Grouping, alike: set[int]) -> list[int]:
    """Of each of `alike`, which are in no group yet: the most others of them on a way to it."""
    levels = [0] * len(grouping.leader)
    for first, *_ in scheduled(grouping):
        level = 0
        for need in grouping.needs[first]:
            level = max(level, levels[need] + (need in alike))
        levels[first] = level
    return levels


def _parts(level: Sequence[Candidate], most_bytes: int) -> Iterator[list[Candidate]]:
    """Neighbours in the program together."""
    part: list[Candidate] = []
    total = 0
    for candidate in level:
        if part and total + candidate.bytes > most_bytes:
            yield part
            part, total = [], 0
        part.append(candidate)
        total += candidate.bytes
    yield part
