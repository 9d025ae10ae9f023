"""In which order ops are visited. The order decides conflicts, so it is part of the result.

Every op is visited once in pre-order; an op to revisit goes on a stack that is served first, unless it is still
to come. Source: spec of propagation, section 1.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sdy.propagation.graph import Node


class Worklist:
    """One sweep over the nodes of a graph, in pre-order, with revisits.

    `is_stale` says whether a node could change anything if it were visited now. The others are passed over in bulk;
    they count as pending until the cursor has passed them all the same.
    """

    def __init__(self, nodes: list[Node], is_stale: Callable[[Node], bool]) -> None:
        self._nodes = nodes
        self._is_stale = is_stale
        self._cursor = 0  # nodes from here on are still to come
        self._stack: list[Node] = []
        self._on_stack: set[int] = set()

    def push(self, node: Node) -> None:
        """Visit `node` next, unless it is pending: then it keeps its place."""
        if node.index < self._cursor and node.index not in self._on_stack:
            self._stack.append(node)
            self._on_stack.add(node.index)

    def __iter__(self) -> Iterator[Node]:
        """The nodes to visit, in order, until none is pending. Erased nodes are left out."""
        nodes, is_stale, count = self._nodes, self._is_stale, len(self._nodes)
        while True:
            if self._stack:
                node = self._stack.pop()
                self._on_stack.discard(node.index)
                if not node.is_erased:
                    yield node
                continue
            cursor = self._cursor
            while cursor < count and (nodes[cursor].is_erased or not is_stale(nodes[cursor])):
                cursor += 1
            if cursor == count:
                self._cursor = count
                return
            self._cursor = cursor + 1
            yield nodes[cursor]
