"""The state of the layout search: the op layout of every node, and the cost of each value that follows.

A value has the layout in which its producer yields it; it is transferred from there to its *home*, and from its home to
each layout that a user requires. A *move* changes the op layouts of some nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sdy.model.mesh_digits import NumberedDigits
from sdy.partitioner.layout_search.deliveries import Needs, shared_deliveries
from sdy.partitioner.layout_search.graph import LayoutGraph, LayoutNode
from sdy.partitioner.layout_search.layout import Layout
from sdy.partitioner.layout_search.node import OpLayout
from sdy.partitioner.layout_search.transfer import Patterns

LayoutMove = Mapping[int, OpLayout]  # by node

NO_MOVE: LayoutMove = {}


class Sent(NamedTuple):
    """The bytes that each device sends, and the number of collectives, both over a whole program run."""

    bytes: float
    collectives: int

    def minus(self, other: Sent) -> Sent:
        """Return the difference."""
        return Sent(self.bytes - other.bytes, self.collectives - other.collectives)


class SearchState:
    """The op layouts of all nodes of a graph, and the costs of its values in bytes.

    `resources` limits the bytes that the device of an op holds, and prices them, by a memory budget.
    """

    def __init__(self, graph: LayoutGraph, digits: NumberedDigits, patterns: Patterns, memory: MemoryBudget) -> None:
        self.graph = graph
        self.digits = digits
        self.patterns = patterns
        self.resources = NodeResources(graph, digits, memory)
        self._deliveries = shared_deliveries(digits, patterns)
        self.transfers = self._deliveries.transfers
        self._nodes_of_value = [frozenset(end.node for end in value.ends) for value in graph.values]
        self.costs = [self._cost(value) for value in range(len(graph.values))]

    # Layouts

    def layouts(self, node: int, move: LayoutMove = NO_MOVE) -> tuple[Layout, ...]:
        """Return the layouts of the tensors of a node."""
        return (move[node] if node in move else self.graph.nodes[node].op_layout).layouts

    def layout(self, value: int, move: LayoutMove = NO_MOVE) -> Layout:
        """Return the layout in which a value is produced."""
        own = self.graph.values[value]
        if own.producer is None:
            return own.layout
        node, index = own.producer
        return (move[node] if node in move else self.graph.nodes[node].op_layout).layouts[index]

    def needs(self, value: int, move: LayoutMove = NO_MOVE, but: int | None = None) -> Needs:
        """Return the layouts that the users of a value, but one node, require."""
        own, nodes = self.graph.values[value], self.graph.nodes
        layouts = [
            (move[node] if node in move else nodes[node].op_layout).layouts[index]
            for node, index in own.users
            if node != but
        ]
        return frozenset((*own.fixed_needs, *layouts) if own.fixed_needs else layouts)

    def home(self, value: int) -> Layout:
        """Return the layout through which a value is delivered to its users."""
        return self._deliveries.cheapest(self.layout(value), self.needs(value), self.graph.values[value].tensor).home

    # Costs

    def cost(self, value: int, move: LayoutMove = NO_MOVE) -> float:
        """Return the bytes sent to deliver a value, after a move."""
        return self.costs[value] if move.keys().isdisjoint(self._nodes_of_value[value]) else self._cost(value, move)

    def node_cost(self, node: int) -> float:
        """Return the bytes sent to deliver the operands and results of a node."""
        return sum(self.costs[value] for value in {*self.graph.nodes[node].values})

    def _cost(self, value: int, move: LayoutMove = NO_MOVE) -> float:
        return self.cost_between(value, self.layout(value, move), self.needs(value, move))

    def cost_between(self, value: int, layout: Layout, needs: Needs) -> float:
        """Return the bytes sent to deliver a value from `layout` to `needs`."""
        own = self.graph.values[value]
        return 0.0 if own.is_free else self._deliveries.cheapest(layout, needs, own.tensor).price * own.times

    def least_cost_between(self, value: int, layout: Layout, needs: Needs) -> float:
        """Return a lower bound of `cost_between`. Fast: no transfer is computed."""
        own = self.graph.values[value]
        if own.is_free or not needs:
            return 0.0
        return own.times * max([self.transfers.bound(layout, need, own.tensor) for need in needs])

    def sent(self, values: Iterable[int]) -> Sent:
        """Return the communication that delivers some values."""
        total, collectives = 0.0, 0
        for number in values:
            value = self.graph.values[number]
            if not value.is_free:
                needs, home = self.needs(number), self.home(number)
                steps = value.times * self._deliveries.steps(self.layout(number), needs, home, value.tensor)
                total += self.costs[number] - steps * self.patterns.step_bytes
                collectives += steps
        return Sent(total, collectives)

    # Moves

    def touched(self, move: LayoutMove) -> set[int]:
        """Return the values whose cost a move may change."""
        return {value for number in move for value in self.graph.nodes[number].values}

    def change(self, move: LayoutMove) -> float:
        """Return the bytes that a move adds, with a penalty for the bytes that devices hold more."""
        sent = sum(self.cost(value, move) - self.costs[value] for value in self.touched(move))
        return sent + self.resources.held_change(move)

    def apply(self, move: LayoutMove) -> None:
        """Change the op layouts of the nodes of a move."""
        for number, op_layout in move.items():
            self.graph.nodes[number].op_layout = op_layout
        for value in self.touched(move):
            self.costs[value] = self._cost(value)


def mean_cost(state: SearchState) -> float:
    """Return the bytes sent per delivery of a value, on average over all deliveries that send any."""
    times = sum(value.times for value, cost in zip(state.graph.values, state.costs, strict=True) if cost)
    return sum(state.costs) / times if times else 0.0


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """The bytes that a device may hold for one op, and the cost of each byte that it holds.

    `max_held_bytes` is in bytes. `held_byte_cost` is in bytes sent per byte held: a small one decides between moves
    that send the same, a larger one keeps the search from sending less by holding more.
    """

    max_held_bytes: float
    held_byte_cost: float


class NodeResources:
    """The resources of all nodes. No op may exceed the memory budget, or compute more than at the beginning."""

    def __init__(self, graph: LayoutGraph, digits: NumberedDigits, memory: MemoryBudget) -> None:
        self._graph = graph
        self._digits = digits
        self.memory = memory
        self._known_held: dict[tuple[int, int, int | None], tuple[OpLayout, float]] = {}
        self._flops = [self._local_flops(node, node.op_layout) for node in graph.nodes]

    def held_change(self, move: Mapping[int, OpLayout]) -> float:
        """Return the cost of the bytes that devices hold more after a move, by node."""
        held = sum(self._held(number, op_layout) - self._held(number) for number, op_layout in move.items())
        return self.memory.held_byte_cost * held

    def exceeds_limits(self, number: int, op_layout: OpLayout) -> bool:
        """Return whether a device would compute more than before the search, or hold more at once than allowed."""
        held = 0 if self._graph.nodes[number].is_edge else self._held(number, op_layout, times=1)
        return held > self.memory.max_held_bytes or self.computes_more(number, op_layout)

    def computes_more(self, number: int, op_layout: OpLayout) -> bool:
        """Return whether a device would compute more of a contraction than before the search."""
        node = self._graph.nodes[number]
        return bool(node.flops) and self._local_flops(node, op_layout) > self._flops[number]

    def _local_flops(self, node: LayoutNode, op_layout: OpLayout) -> float:
        return node.flops / self._digits.shards(op_layout.assignment.factors) if node.flops else 0.0

    def _held(self, number: int, op_layout: OpLayout | None = None, times: int | None = None) -> float:
        """Return the bytes of the operands and results of a node on one device, times its executions, or `times`."""
        node = self._graph.nodes[number]
        op_layout = op_layout or node.op_layout
        key = number, id(op_layout), times  # the cache keeps the op layout alive, so that its id is unique
        if key not in self._known_held:
            pairs = zip((self._graph.values[value] for value in node.values), op_layout.layouts, strict=True)
            held = sum(
                (value.times if times is None else times)
                * value.tensor.width
                * self._digits.elements(value.tensor.shape, layout.dims)
                for value, layout in pairs
            )
            self._known_held[key] = op_layout, held
        return self._known_held[key][1]
