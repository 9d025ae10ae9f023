"""Transfers between numbered places in as few rounds as possible, so that nobody sends, or receives, twice in a round.

These are colors of the edges of a bipartite graph, senders to receivers: as many as the busiest place has edges, by
König's theorem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Edge = tuple[int, int]  # sender, receiver


def edge_colors(edges: Sequence[Edge]) -> list[int]:
    """The color of each edge; there may be several between two places.

    >>> edge_colors([(0, 0), (0, 1), (1, 0)])
    [0, 1, 1]
    """
    coloring = _Coloring(edges)
    for number in range(len(edges)):
        coloring.add(number)
    return coloring.colors


class _Coloring:
    """Edges that get their colors one by one. A place is a number and a side: 0 sends, 1 receives."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self._edges = edges
        times = Counter((place, side) for edge in edges for side, place in enumerate(edge))
        self._palette = range(max(times.values(), default=0))
        self._edge_at: dict[tuple[int, int, int], int] = {}  # by place, side and color
        self.colors = [-1] * len(edges)

    def add(self, number: int) -> None:
        """Color an edge with the first color that both of its places have left, or else make one so."""
        sender, receiver = self._edges[number]
        at_sender, at_receiver = self._left(sender, 0), self._left(receiver, 1)
        common = [color for color in at_sender if color in at_receiver]
        color = common[0] if common else at_sender[0]
        if not common:
            self._swap_from(receiver, color, at_receiver[0])
        self._give(number, color)

    def _left(self, place: int, side: int) -> list[int]:
        return [color for color in self._palette if (place, side, color) not in self._edge_at]

    def _swap_from(self, receiver: int, color: int, other: int) -> None:
        """Swap two colors along the path of edges that have them, from a receiver that has `color` and not `other`.

        It comes to senders by `color`, so that it ends before any that has that color left.
        """
        path: list[int] = []
        place, side = receiver, 1
        while (number := self._edge_at.get((place, side, (color, other)[len(path) % 2]))) is not None:
            path.append(number)
            side = 1 - side
            place = self._edges[number][side]
        turned = {color: other, other: color}
        colors = [turned[self.colors[number]] for number in path]
        for number in path:
            for each, end in enumerate(self._edges[number]):
                del self._edge_at[end, each, self.colors[number]]
        for number, new in zip(path, colors, strict=True):
            self._give(number, new)

    def _give(self, number: int, color: int) -> None:
        self.colors[number] = color
        for side, place in enumerate(self._edges[number]):
            self._edge_at[place, side, color] = number
