"""The order of a block in which collectives run together, and no more bytes are alive than there may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from sdy.cost.lifetimes import MemoryUse
from sdy.partitioner.combining.blame import blamed
from sdy.partitioner.combining.groups import Candidate, halves, largest_groups
from sdy.partitioner.combining.program import Order, Program

V = TypeVar("V")

MOST_TRIES = 24  # each takes a look at the whole block
MOST_HALVINGS = 6  # of these, before groups that are in the way are dissolved at once


def combined_order(program: Program[V], candidates: Sequence[Candidate], most_bytes: int, most_alive: int) -> Order:
    """The ops in a new order, those that run at once together; the old one where nothing else fits into memory.

    `most_bytes` is how large the results of a group may be, `most_alive` how much may be alive at any time. Where that
    is too little, the groups for which more is alive by then than before are halved, or dissolved in the end.
    """
    groups = largest_groups(program.needs, candidates, most_bytes)
    for number in range(MOST_TRIES):
        if not groups:
            break
        order = program.order(groups)
        crowded = list(_crowded(order.alive, most_alive))
        if not crowded:
            return order
        parted = blamed(program, groups, order.groups, crowded)
        parts = (
            [half for group in groups if group in parted for half in halves(group)] if number < MOST_HALVINGS else []
        )
        groups = [*(group for group in groups if group not in parted), *parts]
    return program.order(())


def _crowded(alive: Sequence[MemoryUse], most_alive: int) -> Iterator[tuple[int, int]]:
    """The worst place of each stretch with too much alive, and how much that is too much."""
    places = enumerate(moment.most - most_alive for moment in alive)
    for is_too_much, stretch in groupby(places, key=lambda place: place[1] > 0):
        if is_too_much:
            yield max(stretch, key=lambda place: place[1])
