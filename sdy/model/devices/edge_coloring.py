"""An edge coloring that schedules transfers in as few rounds as possible, with one send and one receive per round.

The transfers are the edges of a bipartite graph from senders to receivers. By König's theorem, the number of colors,
and so of rounds, is the largest number of edges at one sender or receiver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Edge = tuple[int, int]  # sender, receiver


def edge_colors(edges: Sequence[Edge]) -> list[int]:
    """Return the color of each edge. There may be several edges between the same two nodes.

    >>> edge_colors([(0, 0), (0, 1), (1, 0)])
    [0, 1, 1]
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
