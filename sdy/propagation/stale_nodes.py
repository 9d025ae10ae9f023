"""Bookkeeping of the nodes whose visit could change anything, so that sweeps skip all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sdy.model.sharding import TensorSharding
from sdy.propagation.graph import MISSING, NO_RULE, Graph, Node, Value


class StaleNodes:
    """Two flags per node, by node index.

    A node is *live* once some tensor of it is sharded: before that, no axis can propagate through it. A node is *stale*
    if a visit could have an effect now: it is live and something changed since its last visit, or it is dead and
    waits to be erased.
    """

    def __init__(self, graph: Graph) -> None:
        self.flags = bytearray(len(graph.nodes))  # whether each node is stale
        self._live = bytearray(len(graph.nodes))
        self._is_sharded: dict[int, bool] = {MISSING: False}  # by number of a sharding
        self._sharding_of: Callable[[int], TensorSharding] = graph.shardings.value
        for node in graph.nodes:
            if node.is_dead:
                self.flags[node.index] = 1
        for holder in graph.holders:
            if holder.sharding != MISSING:
                self.mark_users_of(holder)
        for node in graph.nodes:
            if node.boundary is not None:  # sources see manual axes that the stored sharding does not have
                self._live[node.index] = self.flags[node.index] = 1

    def mark_users_of(self, holder: Value) -> None:
        """Mark the nodes that have `holder` among their tensors, whose sharding has changed."""
        stale, live = self.flags, self._live
        is_sharded = self._is_sharded.get(holder.sharding)
        if is_sharded is None:
            is_sharded = not self._sharding_of(holder.sharding).is_fully_replicated
            self._is_sharded[holder.sharding] = is_sharded
        nodes = [user for user, _ in holder.uses]
        if holder.owner is not None:
            nodes.append(holder.owner)
        for node in (*nodes, *holder.other_nodes):
            if is_sharded and node.rule != NO_RULE:
                live[node.index] = stale[node.index] = 1
            elif live[node.index]:
                stale[node.index] = 1

    def mark_classes(self, changed: set[int], class_of_node: Sequence[int]) -> None:
        """Mark the live nodes of the `changed` op classes."""
        stale = self.flags
        for index, (op_class, is_live) in enumerate(zip(class_of_node, self._live, strict=True)):
            if is_live and op_class in changed:
                stale[index] = 1

    def mark_if_live(self, node: Node) -> None:
        """Mark the node if it is live. A dead node stays stale."""
        self.flags[node.index] |= self._live[node.index]

    def mark_dead(self, node: Node) -> None:
        """Mark a node that has become dead, so that it is visited and erased."""
        self.flags[node.index] = 1

    def clear(self, node: Node) -> None:
        """Record that a visit of the node has no effect until something changes."""
        self.flags[node.index] = 0
