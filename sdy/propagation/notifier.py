"""Who is visited again when a sharding changes, in which order.

Source: docs/spec/02, 1.8. The order is that of the use lists, latest use first.
"""

from __future__ import annotations

from sdy.propagation.graph import PROPAGATING, Graph, Node, NodeKind, Value


class Notifier:
    """The nodes to queue for a change of a value's sharding; remembered until an op is erased."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[int, tuple[Node, ...]] = {}
        self._around: dict[Node, tuple[Node, ...]] = {}

    def forget(self) -> None:
        """Use lists have changed."""
        self._known.clear()

    def affected_by(self, value: Value) -> tuple[Node, ...]:
        """The nodes to touch, in order. `value` is the one that holds its own sharding."""
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = tuple(filter(_is_worth_a_visit, self._affected(value)))
        return known

    def visited_ancestors(self, node: Node) -> tuple[Node, ...]:
        """The ops around `node` that a visit could change, from the innermost outwards."""
        parent = node.parent
        if parent is None:
            return ()
        known = self._around.get(parent)
        if known is None:
            own = (parent,) if _is_worth_a_visit(parent) else ()
            known = self._around[parent] = own + self.visited_ancestors(parent)
        return known

    def _affected(self, value: Value) -> list[Node]:
        found: list[Node] = []
        owner = value.owner
        if owner is not None:
            for linked in owner.linked_values:
                self._add_readers(linked, found, set())
            found.append(owner)
        self._add_readers(value, found, set())
        return found

    def _add_readers(self, value: Value, found: list[Node], seen: set[int]) -> None:
        if id(value) in seen:  # a function that returns its own argument, called on its own result
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
                    self._add_readers(call.results[position], found, seen)
            elif user.kind is NodeKind.CALL:
                self._add_readers(self._graph.callees[user][position], found, seen)
            else:
                found.append(user)


def _is_worth_a_visit(node: Node) -> bool:
    """Whether popping `node` can have an effect: it propagates, or its erasure lets go of operands or of a body."""
    return node.kind in PROPAGATING or (node.is_erasable and bool(node.operands or node.children))
