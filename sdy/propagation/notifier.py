"""The nodes to visit again when a sharding changes, in order.

The order is that of the use lists, latest use first. Source: docs/spec/02, 1.8.
"""

from __future__ import annotations

from sdy.propagation.graph import PROPAGATING, Graph, Node, NodeKind, Value


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
