"""Who is visited again when a sharding changes, in which order.

Source: spec of propagation, section 1.8. The order is that of the use lists, latest use first.
"""

from __future__ import annotations

from collections.abc import Iterator

from sdy.propagation.graph import PROPAGATING, Graph, Node, NodeKind, Value


class Notifier:
    """The nodes to queue for a change of a value's sharding; remembered until an op is erased."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[int, tuple[Node, ...]] = {}

    def forget(self) -> None:
        """Use lists have changed."""
        self._known.clear()

    def affected_by(self, value: Value) -> tuple[Node, ...]:
        """The nodes to touch, in order. `value` is the one that holds its own sharding."""
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = tuple(node for node in self._affected(value) if _is_worth_a_visit(node))
        return known

    def _affected(self, value: Value) -> Iterator[Node]:
        owner = value.owner
        if owner is not None:
            for linked in owner.linked_values:
                yield from self._readers(linked, set())
            yield owner
        yield from self._readers(value, set())

    def _readers(self, value: Value, seen: set[int]) -> Iterator[Node]:
        if id(value) in seen:  # a function that returns its own argument, called on its own result
            return
        seen.add(id(value))
        for user, position in value.uses:
            edge = user.feeds.get(position) if user.feeds else None
            if edge is not None:
                yield edge
            elif user.kind is NodeKind.TERMINATOR:
                if user.parent is not None:
                    yield user.parent
            elif user.kind is NodeKind.RETURN:
                for call in self._graph.callers.get(user, ()):
                    yield from self._readers(call.results[position], seen)
            elif user.kind is NodeKind.CALL:
                yield from self._readers(self._graph.callees[user][position], seen)
            else:
                yield user


def visited_ancestors(node: Node) -> Iterator[Node]:
    """The ops around `node` that a visit could change, from the innermost outwards."""
    parent = node.parent
    while parent is not None:
        if _is_worth_a_visit(parent):
            yield parent
        parent = parent.parent


def _is_worth_a_visit(node: Node) -> bool:
    """Whether popping `node` can have an effect: it propagates, or its erasure lets go of operands or of a body."""
    return node.kind in PROPAGATING or (node.is_erasable and bool(node.operands or node.children))
