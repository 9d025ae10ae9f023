"""Dims that propagation can shard alike: two tensors of an op have them mapped to one factor of its sharding rule."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from sdy.model.rule import FactorIndex
from sdy.propagation.graph import PROPAGATING, Direction, Graph, Node, NodeKind, Value
from sdy.propagation.trace import Site, holders_of


class TiedDim(NamedTuple):
    """A dim of the value whose sharding is stored in `holder`."""

    holder: Value
    dim: int


class Tie(NamedTuple):
    """A step from one dim to another: along `factor` of `site`, between the tensors with these indices.

    `site` is None between the members of a sharding group.
    """

    start: TiedDim
    end: TiedDim
    site: Site | None = None
    factor: FactorIndex = FactorIndex(0)
    start_tensor: int = 0
    end_tensor: int = 0

    def reversed(self) -> Tie:
        """Return the same step in the other direction."""
        return Tie(self.end, self.start, self.site, self.factor, self.end_tensor, self.start_tensor)


class TiedDims:
    """Searches the dims of a graph that are tied to a dim, directly or through other dims."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._tensors: dict[Value, list[tuple[Site, int]]] = {}
        sites: list[Site] = [node for node in graph.nodes if node.kind in PROPAGATING and not node.is_erased]
        for site in (*sites, *graph.main_results):
            for index, holder in enumerate(holders_of(site)):
                if holder is not None:
                    self._tensors.setdefault(holder, []).append((site, index))

    def search(self, start: TiedDim) -> Iterator[Tie]:
        """Yield a step to each dim that is tied to `start`, directly or through others, the nearest dims first."""
        reached = {start}
        queue = deque([start])
        while queue:
            for tie in self.ties(queue.popleft()):
                if tie.end not in reached:
                    reached.add(tie.end)
                    queue.append(tie.end)
                    yield tie

    def ties(self, start: TiedDim) -> Iterator[Tie]:
        """Yield the steps from a dim to the dims that are tied to it directly."""
        for site, index in self._tensors.get(start.holder, ()):
            yield from self._ties_at(start, site, index)
        for member in start.holder.group or ():
            if member.holder is not None and member.holder is not start.holder:
                yield Tie(start, TiedDim(member.holder, start.dim))

    def _ties_at(self, start: TiedDim, site: Site, index: int) -> Iterator[Tie]:
        rule = self._graph.rules.value(site.rule)
        holders = holders_of(site)
        if start.dim >= len(rule.tensors[index]):
            return
        for factor in rule.tensors[index][start.dim]:
            if factor in rule.blocked:
                continue
            for other, (mapping, holder) in enumerate(zip(rule.tensors, holders, strict=True)):
                if holder is None or other == index:
                    continue
                for dim, factors in enumerate(mapping):
                    if factor in factors:
                        yield Tie(start, TiedDim(holder, dim), site, factor, index, other)


def is_stopped_by_barrier(tie: Tie) -> bool:
    """Return whether a propagation barrier keeps axes from moving along a step."""
    if not isinstance(tie.site, Node) or tie.site.kind is not NodeKind.BARRIER:
        return False
    needed = Direction.FORWARD if tie.start_tensor < tie.end_tensor else Direction.BACKWARD
    return not tie.site.direction & needed
