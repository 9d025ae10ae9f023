"""Plans for moving the elements of sharded tensors along a sharded dim: which slices to send, and where to copy them.

Positions are indices along the dim. A device that holds shard i of every operand starts with their concatenation and
ends with shard i of the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

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

    `starts` index the concatenation of the own shard, the slices received by the permutes, in order, and the filler.
    For some shards only the first positions are meaningful: the next copy overwrites the others, or they are past the
    end of the shard.
    """

    length: int
    starts: PerShard
    targets: PerShard


@dataclass(frozen=True, slots=True)
class Regrouping:
    """A plan: the permutes, then the copies that assemble each shard of the result, in order."""

    held: int  # positions of the own shards
    shard: int  # positions of a shard of the result
    permutes: tuple[Permute, ...]
    copies: tuple[ShardCopy, ...]
    filled: int  # positions of the filler

    @property
    def permute_count(self) -> int:
        """Return the number of slices that are sent."""
        return len(self.permutes)

    @property
    def received(self) -> int:
        """Return the number of positions that each device receives."""
        return sum(permute.length for permute in self.permutes)


NO_SENDER = -1  # of the filler


@dataclass(frozen=True, slots=True)
class _Run:
    """A slice of a shard of the operands, or of the filler, that one shard of the result contains."""

    sender: int
    receiver: int
    start: int
    target: int
    length: int


@lru_cache(maxsize=1024)
def regrouping(sizes: tuple[int, ...], count: int) -> Regrouping:
    """Return a plan with the fewest permutes for the concatenation of operands of these sizes, each in `count` shards.

    >>> plan = regrouping((8, 8), 4)
    >>> [(permute.length, permute.pairs) for permute in plan.permutes]
    [(2, ((0, 2), (1, 0), (2, 1))), (2, ((1, 2), (2, 3), (3, 1)))]
    """
    shard = sum(sizes) // count
    (plan,) = _plans([(_runs(sizes, count, shard), shard)], shard, count)
    return plan


def moving(moved: int, shard: int, result_shard: int, count: int) -> Regrouping:
    """Return a plan with the fewest permutes for elements in `count` shards that all move by `moved`, as in a slice.

    Positions of the result without an element have the filler.

    >>> [(permute.length, permute.starts, permute.pairs) for permute in moving(0, 8, 4, 4).permutes]
    [(4, (4, 0, 0, 0), ((0, 1), (1, 2))), (4, (0, 4, 0, 0), ((1, 3),))]
    """
    (plan,) = moving_parts(((moved, result_shard),), shard, count)
    return plan


@lru_cache(maxsize=1024)
def moving_parts(parts: tuple[tuple[int, int], ...], shard: int, count: int) -> tuple[Regrouping, ...]:
    """Return a plan for each of several slices of one value that share no element, with the fewest permutes for all.

    `parts` has how far the elements of a slice move, and the positions of a shard of its result. The plans have the
    same permutes, in which the devices send each other elements of all slices.

    >>> plans = moving_parts(((0, 4), (-16, 4), (-32, 4)), 12, 4)
    >>> [(permute.length, permute.pairs) for permute in plans[0].permutes]
    [(4, ((0, 1), (1, 3), (2, 0), (3, 2))), (4, ((0, 2), (1, 0), (2, 3), (3, 1)))]
    """
    return _plans([(_moved_runs(*part, shard, count), part[1]) for part in parts], shard, count)


def _moved_runs(moved: int, result_shard: int, shard: int, count: int) -> list[_Run]:
    runs: list[_Run] = []
    for receiver in range(count):
        position, end = receiver * result_shard, (receiver + 1) * result_shard
        while position < end:
            element = position - moved
            sender, start = divmod(element, shard)
            limit = moved + (sender + 1) * shard
            if not 0 <= sender < count:
                sender, start, limit = NO_SENDER, 0, moved if element < 0 else end
            length = min(limit, end) - position
            runs.append(_Run(sender, receiver, start, position - receiver * result_shard, length))
            position += length
    return runs


def _plans(results: Sequence[tuple[list[_Run], int]], held: int, count: int) -> tuple[Regrouping, ...]:
    """Return the plans of results, each with the positions of a shard, from runs of shards of `held` positions."""
    runs = [run for own, _ in results for run in own]
    sent = [run for run in runs if run.sender not in (run.receiver, NO_SENDER)]
    sent.sort(key=lambda run: -run.length)
    colors = edge_colors([(run.sender, run.receiver) for run in sent])
    permutes: list[Permute] = []
    available_at = {run: run.start for run in runs if run.sender == run.receiver}
    end = held
    for color in range(max(colors, default=-1) + 1):
        same_color = [run for run, run_color in zip(sent, colors, strict=True) if run_color == color]
        length = max(run.length for run in same_color)
        starts = [0] * count
        for run in same_color:
            starts[run.sender] = min(run.start, held - length)
            available_at[run] = end + run.start - starts[run.sender]
        pairs = tuple(sorted((run.sender, run.receiver) for run in same_color))
        permutes.append(Permute(length, tuple(starts), pairs))
        end += length
    fillers = [run for run in runs if run.sender == NO_SENDER]
    available_at |= dict.fromkeys(fillers, end)
    filled = max((run.length for run in fillers), default=0)
    return tuple(
        Regrouping(
            held, shard, tuple(permutes), _shard_copies({run: available_at[run] for run in own}, count, shard), filled
        )
        for own, shard in results
    )


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


Edge = tuple[int, int]  # sender, receiver


def edge_colors(edges: Sequence[Edge]) -> list[int]:
    """Return the color of each edge. There may be several edges between the same two nodes.

    >>> edge_colors([(0, 0), (0, 1), (1, 0)])
    [0, 1, 1]

    The transfers are the edges of a bipartite graph from senders to receivers. By König's theorem, the number of
    colors, and so of rounds, is the largest number of edges at one sender or receiver.
    """
    coloring = _Coloring(edges)
    for number in range(len(edges)):
        coloring.add(number)
    return coloring.colors


class _Coloring:
    """A coloring that grows edge by edge. A node is a number and a side: side 0 sends, side 1 receives."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self._edges = edges
        degrees = Counter((node, side) for edge in edges for side, node in enumerate(edge))
        self._palette = range(max(degrees.values(), default=0))
        self._edge_at: dict[tuple[int, int, int], int] = {}  # by node number, side and color
        self.colors = [-1] * len(edges)

    def add(self, number: int) -> None:
        """Color an edge with the first color unused at both of its nodes; if there is none, recolor a path of edges."""
        sender, receiver = self._edges[number]
        at_sender, at_receiver = self._unused_colors(sender, 0), self._unused_colors(receiver, 1)
        common = [color for color in at_sender if color in at_receiver]
        color = common[0] if common else at_sender[0]
        if not common:
            self._swap_from(receiver, color, at_receiver[0])
        self._assign(number, color)

    def _unused_colors(self, node: int, side: int) -> list[int]:
        return [color for color in self._palette if (node, side, color) not in self._edge_at]

    def _swap_from(self, receiver: int, color: int, other: int) -> None:
        """Swap two colors along the path of edges that alternate between them, from a receiver that has only `color`.

        The path reaches senders by `color`, so it ends before any sender that does not have that color yet.
        """
        path: list[int] = []
        node, side = receiver, 1
        while (number := self._edge_at.get((node, side, (color, other)[len(path) % 2]))) is not None:
            path.append(number)
            side = 1 - side
            node = self._edges[number][side]
        swapped = {color: other, other: color}
        colors = [swapped[self.colors[number]] for number in path]
        for number in path:
            for side, node in enumerate(self._edges[number]):
                del self._edge_at[node, side, self.colors[number]]
        for number, new in zip(path, colors, strict=True):
            self._assign(number, new)

    def _assign(self, number: int, color: int) -> None:
        self.colors[number] = color
        for side, node in enumerate(self._edges[number]):
            self._edge_at[node, side, color] = number
