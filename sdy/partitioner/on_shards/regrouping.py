"""Plans for concatenating sharded tensors along a sharded dim: which slices to send, and where to copy them.

Positions are indices along the concatenated dim. A device that holds shard i of every operand starts with their
concatenation and ends with shard i of the result, which has the same length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from sdy.model.devices.edge_coloring import edge_colors

PerShard = tuple[int, ...]  # one entry per shard


@dataclass(frozen=True, slots=True)
class Permute:
    """A permute of slices of `length` positions that begin at `starts`, by pairs of sender and receiver."""

    length: int
    starts: PerShard
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ShardCopy:
    """A copy of `length` positions within each shard, from `starts` to `targets`.

    `starts` index the concatenation of the own shard and the slices received by the permutes, in order. For some shards
    only the first positions are meaningful: the next copy overwrites the others, or they are past the end of the shard.
    """

    length: int
    starts: PerShard
    targets: PerShard


@dataclass(frozen=True, slots=True)
class Regrouping:
    """A plan: the permutes, then the copies that assemble each shard of `shard` positions, in order."""

    shard: int
    permutes: tuple[Permute, ...]
    copies: tuple[ShardCopy, ...]

    @property
    def received(self) -> int:
        """Return the number of positions that each device receives."""
        return sum(permute.length for permute in self.permutes)


@dataclass(frozen=True, slots=True)
class _Run:
    """A slice of a shard of the operands that one shard of the result contains."""

    sender: int
    receiver: int
    start: int
    target: int
    length: int


@lru_cache(maxsize=1024)
def regrouping(sizes: tuple[int, ...], count: int) -> Regrouping:
    """Return a plan with the minimum number of permutes for operands of these sizes, each split into `count` shards.

    >>> plan = regrouping((8, 8), 4)
    >>> [(permute.length, permute.pairs) for permute in plan.permutes]
    [(2, ((0, 2), (1, 0), (2, 1))), (2, ((1, 2), (2, 3), (3, 1)))]
    """
    shard = sum(sizes) // count
    runs = _runs(sizes, count, shard)
    sent = sorted((run for run in runs if run.sender != run.receiver), key=lambda run: -run.length)
    colors = edge_colors([(run.sender, run.receiver) for run in sent])
    permutes: list[Permute] = []
    available_at = {run: run.start for run in runs if run.sender == run.receiver}
    end = shard
    for color in range(max(colors, default=-1) + 1):
        same_color = [run for run, run_color in zip(sent, colors, strict=True) if run_color == color]
        length = max(run.length for run in same_color)
        starts = [0] * count
        for run in same_color:
            starts[run.sender] = min(run.start, shard - length)
            available_at[run] = end + run.start - starts[run.sender]
        pairs = tuple(sorted((run.sender, run.receiver) for run in same_color))
        permutes.append(Permute(length, tuple(starts), pairs))
        end += length
    return Regrouping(shard, tuple(permutes), _shard_copies(available_at, count, shard))


def _runs(sizes: Sequence[int], count: int, shard: int) -> list[_Run]:
    runs: list[_Run] = []
    for size, before in zip(sizes, accumulate(sizes, initial=0), strict=False):
        own_size = size // count
        for sender in range(count):
            first = before + sender * own_size
            position = first
            while position < first + own_size:
                receiver, target = divmod(position, shard)
                length = min(first + own_size - position, shard - target)
                start = before // count + position - first
                runs.append(_Run(sender, receiver, start, target, length))
                position += length
    return runs


def _shard_copies(available_at: dict[_Run, int], count: int, shard: int) -> tuple[ShardCopy, ...]:
    """Return the copies: the runs of each shard by target. A shard without further runs copies past its end."""
    of_shard: list[list[_Run]] = [[] for _ in range(count)]
    for run in sorted(available_at, key=lambda run: run.target):
        of_shard[run.receiver].append(run)
    copies: list[ShardCopy] = []
    for step in range(max(map(len, of_shard))):
        step_runs = [runs[step] if step < len(runs) else None for runs in of_shard]
        length = max(run.length for run in step_runs if run is not None)
        starts = tuple(0 if run is None else available_at[run] for run in step_runs)
        copies.append(ShardCopy(length, starts, tuple(shard if run is None else run.target for run in step_runs)))
    return tuple(copies)
