"""Find an order of a block that combines collectives within a limit of live bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from sdy.cost.lifetimes import MemoryUse
from sdy.partitioner.combining.blame import blamed
from sdy.partitioner.combining.groups import Candidate, halves, largest_groups
from sdy.partitioner.combining.order import BlockOps, Order

V = TypeVar("V")

MOST_TRIES = 24  # each costs a walk over the block
MOST_HALVINGS = 6  # tries that halve groups; later ones dissolve them


def combined_order(program: BlockOps[V], candidates: Sequence[Candidate], most_bytes: int, most_alive: int) -> Order:
    """Return an order with combined collectives; the program order if no other fits into memory.

    `most_bytes` limits the results of a group, `most_alive` the live bytes at any time. If an order exceeds that, the
    groups that cause the excess are halved, and later dissolved.
    """
    groups = largest_groups(program.dependences, candidates, most_bytes)
    for number in range(MOST_TRIES):
        if not groups:
            break
        order = program.order(groups)
        crowded = list(_crowded(order.alive, most_alive))
        if not crowded:
            return order
        to_split = blamed(program, groups, order.groups, crowded)
        halved = (
            [half for group in groups if group in to_split for half in halves(group)] if number < MOST_HALVINGS else []
        )
        groups = [*(group for group in groups if group not in to_split), *halved]
    return program.order(())


def _crowded(alive: Sequence[MemoryUse], most_alive: int) -> Iterator[tuple[int, int]]:
    """Yield the worst position of each run of positions over the limit, and the excess bytes there."""
    excesses = enumerate(moment.most - most_alive for moment in alive)
    for is_over_limit, run in groupby(excesses, key=lambda excess: excess[1] > 0):
        if is_over_limit:
            yield max(run, key=lambda excess: excess[1])
