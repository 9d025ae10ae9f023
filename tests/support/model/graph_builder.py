"""Build propagation graphs by hand, from the text of meshes, shardings and rules."""

from __future__ import annotations

from collections.abc import Sequence

from sdy.grammar.parse import parse_mesh, parse_rule, parse_sharding
from sdy.grammar.write import write_sharding
from sdy.model.mesh import Mesh
from sdy.model.rule_builder import identity_rule
from sdy.propagation.engine import Engine, Schedule
from sdy.propagation.graph import Direction, FunctionResult, Graph, Node, NodeKind, PassThrough, Value
from sdy.propagation.user_priority import run_by_user_priority

Shape = tuple[int, ...]


class GraphBuilder:
    """A builder of one function, `main`, on mesh `@m` unless a sharding names another one."""

    def __init__(self, mesh: str, **others: str) -> None:
        meshes: dict[str, Mesh] = {"m": parse_mesh(mesh)} | {name: parse_mesh(text) for name, text in others.items()}
        self.graph = Graph(meshes)
        self.function = self._node(NodeKind.OPAQUE)
        self._results: list[Value] = []

    def argument(self, shape: Shape, sharding: str | None = None) -> Value:
        """Add an argument to the function."""
        return self._value(self.function, shape, sharding, is_block_argument=True)

    def op(
        self,
        rule: str | None,
        operands: Sequence[Value],
        shapes: Sequence[Shape],
        shardings: Sequence[str | None] = (),
        *,
        elementwise: bool = False,
        pass_through: PassThrough = PassThrough.NO,
        erasable: bool = True,
    ) -> list[Value]:
        """Add an op with the sharding rule `rule`; return its results.

        `shardings` is empty or has one entry per result.
        """
        node = self._node(NodeKind.OPAQUE if rule is None else NodeKind.RULE, operands)
        node.is_elementwise, node.is_erasable = elementwise, erasable
        node.pass_through = PassThrough.BOTH if elementwise else pass_through
        texts = list(shardings) or [None] * len(shapes)
        node.results = [self._value(node, shape, text) for shape, text in zip(shapes, texts, strict=True)]
        holders = [result.holder for result in node.results if result.holder is not None]
        for holder in holders:
            holder.siblings = holders
        if rule is not None:
            node.rule = self.graph.rules.number(parse_rule(f"<{rule}>"))
        node.tensors = (*(value.holder for value in operands), *holders)
        return node.results

    def elementwise(self, *operands: Value, shape: Shape, sharding: str | None = None) -> Value:
        """Add an element-wise op over tensors of one shape."""
        node = self._node(NodeKind.RULE, operands)
        node.is_elementwise, node.is_erasable, node.pass_through = True, True, PassThrough.BOTH
        node.rule = self.graph.rules.number(identity_rule(shape, len(operands)))
        node.results = [self._value(node, shape, sharding)]
        node.tensors = (*(value.holder for value in operands), node.results[0].holder)
        return node.results[0]

    def barrier(self, operand: Value, shape: Shape, direction: Direction) -> Value:
        """Add a propagation barrier."""
        node = self._node(NodeKind.BARRIER, [operand])
        node.direction, node.is_elementwise, node.is_erasable = direction, True, True
        node.rule = self.graph.rules.number(identity_rule(shape))
        node.results = [self._value(node, shape, None)]
        node.tensors = (operand.holder, node.results[0].holder)
        return node.results[0]

    def group(self, *members: Value) -> None:
        """Put `members` into one sharding group."""
        for member in members:
            member.group = list(members)

    def returns(self, *values: tuple[Value, Shape, str | None]) -> None:
        """Return values from the function, each with its shape and result sharding."""
        self._node(NodeKind.RETURN, [value for value, _, _ in values])
        for value, shape, text in values:
            holder = self._holder(shape, text, Value(None))
            self._results.append(holder)
            rule = self.graph.rules.number(identity_rule(shape))
            self.graph.main_results.append(FunctionResult(value, holder, rule))

    def propagate(self, schedule: Schedule, *, by_user_priority: bool = False) -> None:
        """Run the propagation engine over the graph."""
        engine = Engine(self.graph, schedule)
        if by_user_priority:
            run_by_user_priority(self.graph, engine)
        else:
            engine.run()

    def text(self, value: Value) -> str | None:
        """Return the text of the sharding of a value, without its mesh if that is `@m`."""
        return None if value.holder is None else self._text(value.holder)

    def result_text(self, index: int) -> str | None:
        """Return the text of the sharding of a function result."""
        return self._text(self._results[index])

    def _text(self, holder: Value) -> str | None:
        sharding = self.graph.sharding(holder)
        return None if sharding is None else write_sharding(sharding).removeprefix("<@m, ").rstrip(">")

    def _node(self, kind: NodeKind, operands: Sequence[Value] = ()) -> Node:
        parent = self.graph.nodes[0] if self.graph.nodes else None
        node = Node(len(self.graph.nodes), kind, parent, operands=list(operands))
        for position, value in enumerate(operands):
            value.uses = [(node, position), *value.uses]
        if parent is not None:
            parent.children = [*parent.children, node]
        self.graph.nodes.append(node)
        return node

    def _value(self, owner: Node, shape: Shape, text: str | None, *, is_block_argument: bool = False) -> Value:
        return self._holder(shape, text, Value(owner, not shape, is_block_argument=is_block_argument))

    def _holder(self, shape: Shape, text: str | None, value: Value) -> Value:
        full = text if text is None or text.startswith("@") else f"@m, {text}"
        return self.graph.add_holder(value, None if full is None else parse_sharding(f"<{full}>"), len(shape))
