"""The nodes to visit again when a sharding changes, in order, and those whose visit could change anything.

The order is that of the use lists, latest use first. Source: docs/spec/02, 1.8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sdy.model.sharding import TensorSharding
from sdy.propagation.graph import MISSING, NO_RULE, PROPAGATING, Graph, Node, NodeKind, Value


class Notifier:
    """The nodes to queue when the sharding of a value changes; cached until an op is erased."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[int, tuple[Node, ...]] = {}
        self._around: dict[Node, tuple[Node, ...]] = {}

    def forget(self) -> None:
        """Clear the cache, because use lists have changed."""
        self._known.clear()

    def affected_by(self, value: Value) -> tuple[Node, ...]:
        """Return the nodes to queue, in order, for a change of `value`, which must be a holder."""
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = tuple(filter(_can_have_effect, self._affected(value)))
        return known

    def visited_ancestors(self, node: Node) -> tuple[Node, ...]:
        """Return the ancestors of `node` that a visit could change, innermost first."""
        parent = node.parent
        if parent is None:
            return ()
        known = self._around.get(parent)
        if known is None:
            own = (parent,) if _can_have_effect(parent) else ()
            known = self._around[parent] = own + self.visited_ancestors(parent)
        return known

    def _affected(self, value: Value) -> list[Node]:
        found: list[Node] = []
        owner = value.owner
        if owner is not None:
            for linked in owner.linked_values:
                self._add_users(linked, found, set())
            found.append(owner)
        self._add_users(value, found, set())
        return found

    def _add_users(self, value: Value, found: list[Node], seen: set[int]) -> None:
        if id(value) in seen:  # a function can return its own argument and be called on its own result
            return
        seen.add(id(value))
        for user, position in value.uses:
            edge = user.feeds.get(position) if user.feeds else None
            if edge is not None:
                found.append(edge)
            elif user.kind is NodeKind.TERMINATOR:
                if user.parent is not None:
                    found.append(user.parent)
            elif user.kind is NodeKind.RETURN:
                for call in self._graph.callers.get(user, ()):
                    self._add_users(call.results[position], found, seen)
            elif user.kind is NodeKind.CALL:
                self._add_users(self._graph.callees[user][position], found, seen)
            else:
                found.append(user)


def _can_have_effect(node: Node) -> bool:
    """Return whether a visit of `node` can have an effect: it propagates, or erasing it frees operands or inner ops."""
    return node.kind in PROPAGATING or (node.is_erasable and bool(node.operands or node.children))


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
