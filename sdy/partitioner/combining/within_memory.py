"""Find an order of a block that combines collectives within a limit of live bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from sdy.cost.lifetimes import MemoryUse
from sdy.partitioner.combining.groups import Candidate, halves, largest_groups
from sdy.partitioner.combining.order import BlockOps, Group, Order

V = TypeVar("V")

MOST_TRIES = 24  # each costs a walk over the block
MOST_HALVINGS = 6  # tries that halve groups; later ones dissolve them


def combined_order(program: BlockOps[V], candidates: Sequence[Candidate], most_bytes: int, most_alive: int) -> Order:
    """Return an order with combined collectives; the program order if no other fits into memory.

    `most_bytes` limits the results of a group, `most_alive` the live bytes at any time. If an order exceeds that, the
    groups that move ops there are halved, and later dissolved.
    """
    groups = largest_groups(program.dependences, candidates, most_bytes)
    for number in range(MOST_TRIES):
        if not groups:
            break
        order = program.order(groups)
        crowded = list(_crowded(order.alive, most_alive))
        if not crowded:
            return order
        to_split = _moved_across(groups, order.groups, crowded)
        halved = (
            [half for group in groups if group in to_split for half in halves(group)] if number < MOST_HALVINGS else []
        )
        groups = [*(group for group in groups if group not in to_split), *halved]
    return program.order(())


def _crowded(alive: Sequence[MemoryUse], most_alive: int) -> Iterator[int]:
    """Yield the worst position of each run of positions over the limit."""
    positions = range(len(alive))
    for is_over_limit, run in groupby(positions, key=lambda position: alive[position].most > most_alive):
        if is_over_limit:
            yield max(run, key=lambda position: alive[position].most)


def _moved_across(groups: Sequence[Group], order: Sequence[Group], crowded: Iterable[int]) -> set[Group]:
    """Return a group for each crowded position in `order`, at least one.

    A group keeps alive what it makes early or takes late: where it moves ops, which is between its first and its last
    op in program order. Of several groups there, the one with the longest way is returned.
    """
    found: set[Group] = set()
    for position in crowded:
        here = order[position][0]
        around = (group for group in groups if group[0] <= here <= group[-1])
        found.add(max(around, key=lambda group: group[-1] - group[0], default=groups[0]))
    return found
