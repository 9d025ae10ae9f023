"""The order in which ops are visited. Since it decides conflicts, it is part of the result.

Every op is visited once in pre-order. An op to revisit is pushed on a stack that is served first, unless its first
visit is still pending. Source: docs/spec/02, 1.5.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdy.propagation.graph import Node


class Worklist:
    """One sweep over the nodes of a graph, in pre-order, with revisits.

    `stale` has a 1 for each node whose visit could change anything. The others are skipped in bulk, but count as
    pending until the cursor has passed them.
    """

    def __init__(self, nodes: list[Node], stale: bytearray) -> None:
        self._nodes = nodes
        self._stale = stale
        self._cursor = 0  # nodes from this index on are still pending
        self._stack: list[Node] = []
        self._on_stack: set[int] = set()

    def push(self, node: Node) -> None:
        """Visit `node` next, unless it is pending already; then its position does not change."""
        if node.index < self._cursor and node.index not in self._on_stack:
            self._stack.append(node)
            self._on_stack.add(node.index)

    def __iter__(self) -> Iterator[Node]:
        """Yield the nodes to visit, in order, until none is pending; skip nodes that are erased or not stale."""
        nodes, stale, stack = self._nodes, self._stale, self._stack
        while True:
            while stack:
                node = stack.pop()
                self._on_stack.discard(node.index)
                if stale[node.index] and not node.is_erased:
                    yield node
            found = stale.find(1, self._cursor)
            if found < 0:
                self._cursor = len(nodes)
                return
            self._cursor = found + 1
            if not nodes[found].is_erased:
                yield nodes[found]
