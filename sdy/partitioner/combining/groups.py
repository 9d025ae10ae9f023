"""Choose groups of collectives to combine: collectives of one kind that do not depend on each other.

The level of an op, for a kind of collective, is the largest number of such collectives on a path to it. Collectives of
one kind and level are independent, and no order of the program dependences fewer groups than there are levels.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from sdy.partitioner.combining.order import DependenceLists, Group, Grouping, scheduled


@dataclass(frozen=True, slots=True)
class Candidate:
    """A collective: its op, a key that is equal for combinable collectives, and the bytes of its results."""

    op: int
    kind: Hashable
    bytes: int


def largest_groups(dependences: DependenceLists, candidates: Sequence[Candidate], most_bytes: int) -> list[Group]:
    """Return the largest groups of at least two collectives whose results have at most `most_bytes`.

    Kinds with the most collectives come first: the groups of one kind add dependences for the next.
    """
    alike: dict[Hashable, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.bytes <= most_bytes:
            alike.setdefault(candidate.kind, []).append(candidate)
    groups: list[Group] = []
    for several in sorted(alike.values(), key=lambda several: (-len(several), several[0].op)):
        if len(several) > 1:
            groups += _groups_of(dependences, groups, several, most_bytes)
    return groups


def halves(group: Group) -> list[Group]:
    """Return the earlier and the later half of a group, if it has more than one op."""
    middle = (len(group) + 1) // 2
    return [half for half in (group[:middle], group[middle:]) if len(half) > 1]


def _groups_of(
    dependences: DependenceLists, groups: Sequence[Group], alike: Sequence[Candidate], most_bytes: int
) -> Iterator[Group]:
    levels = _levels(Grouping(dependences, groups), {candidate.op for candidate in alike})
    by_level: dict[int, list[Candidate]] = {}
    for candidate in alike:
        by_level.setdefault(levels[candidate.op], []).append(candidate)
    for level in by_level.values():
        for part in _parts(level, most_bytes):
            if len(part) > 1:
                yield tuple(candidate.op for candidate in part)


def _levels(grouping: Grouping, alike: set[int]) -> list[int]:
    """Return the level of each op with respect to `alike`, collectives of one kind without a group."""
    levels = [0] * len(grouping.leader)
    for first, *_ in scheduled(grouping):
        level = 0
        for need in grouping.dependences[first]:
            level = max(level, levels[need] + (need in alike))
        levels[first] = level
    return levels


def _parts(level: Sequence[Candidate], most_bytes: int) -> Iterator[list[Candidate]]:
    """Split a level into runs of consecutive collectives of at most `most_bytes` each."""
    part: list[Candidate] = []
    total = 0
    for candidate in level:
        if part and total + candidate.bytes > most_bytes:
            yield part
            part, total = [], 0
        part.append(candidate)
        total += candidate.bytes
    yield part
