"""How shards of several tensors become shards of all of them one after the other: who sends what, and where it goes.

Numbers alone: positions count along the dim that is joined. A device that holds shard i of every operand has them side
by side, and is to hold shard i of the result, which is as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from sdy.model.devices.edge_coloring import edge_colors

Table = tuple[int, ...]  # one entry a shard


@dataclass(frozen=True, slots=True)
class Permute:
    """Shards send each other `length` positions from `starts` on, by pairs of sender and receiver."""

    length: int
    starts: Table
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Placing:
    """Each shard copies `length` positions from `starts` on to `targets` on.

    `starts` count what it had, then what the permutes brought, one after the other. Of some shards fewer positions mean
    something: the others are overwritten by the next placing, or come behind the end of the shard.
    """

    length: int
    starts: Table
    targets: Table


@dataclass(frozen=True, slots=True)
class Regrouping:
    """What is sent at the same time, one permute after the other; then where all goes, in order."""

    shard: int
    permutes: tuple[Permute, ...]
    placings: tuple[Placing, ...]

    @property
    def received(self) -> int:
        """Positions that each device is sent."""
        return sum(permute.length for permute in self.permutes)


@dataclass(frozen=True, slots=True)
class _Run:
    """Successive positions of a shard that a shard of the result gets."""

    sender: int
    receiver: int
    start: int
    target: int
    length: int


@lru_cache(maxsize=1024)
def regrouping(sizes: tuple[int, ...], count: int) -> Regrouping:
    """The regrouping of operands of these sizes, each cut into `count` shards, by as few permutes as there can be.

    >>> plan = regrouping((8, 8), 4)
    >>> [(permute.length, permute.pairs) for permute in plan.permutes]
    [(2, ((0, 2), (1, 0), (2, 1))), (2, ((1, 2), (2, 3), (3, 1)))]
    """
    shard = sum(sizes) // count
    runs = _runs(sizes, count, shard)
    sent = sorted((run for run in runs if run.sender != run.receiver), key=lambda run: -run.length)
    colors = edge_colors([(run.sender, run.receiver) for run in sent])
    permutes: list[Permute] = []
    found_at = {run: run.start for run in runs if run.sender == run.receiver}
    end = shard
    for color in range(max(colors, default=-1) + 1):
        together = [run for run, own in zip(sent, colors, strict=True) if own == color]
        length = max(run.length for run in together)
        starts = [0] * count
        for run in together:
            starts[run.sender] = min(run.start, shard - length)
            found_at[run] = end + run.start - starts[run.sender]
        pairs = tuple(sorted((run.sender, run.receiver) for run in together))
        permutes.append(Permute(length, tuple(starts), pairs))
        end += length
    return Regrouping(shard, tuple(permutes), _placings(found_at, count, shard))


def _runs(sizes: Sequence[int], count: int, shard: int) -> list[_Run]:
    runs: list[_Run] = []
    for size, before in zip(sizes, accumulate(sizes, initial=0), strict=False):
        own = size // count
        for sender in range(count):
            begin = before + sender * own
            position = begin
            while position < begin + own:
                receiver, target = divmod(position, shard)
                length = min(begin + own - position, shard - target)
                start = before // count + position - begin
                runs.append(_Run(sender, receiver, start, target, length))
                position += length
    return runs


def _placings(found_at: dict[_Run, int], count: int, shard: int) -> tuple[Placing, ...]:
    """The runs of each shard in the order of their targets; a shard that has no more copies behind its end."""
    of_shard: list[list[_Run]] = [[] for _ in range(count)]
    for run in sorted(found_at, key=lambda run: run.target):
        of_shard[run.receiver].append(run)
    placings: list[Placing] = []
    for turn in range(max(map(len, of_shard))):
        own = [runs[turn] if turn < len(runs) else None for runs in of_shard]
        length = max(run.length for run in own if run is not None)
        starts = tuple(0 if run is None else found_at[run] for run in own)
        placings.append(Placing(length, starts, tuple(shard if run is None else run.target for run in own)))
    return tuple(placings)
