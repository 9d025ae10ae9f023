"""The memory and the compute of one device for the nodes of a graph, and their limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sdy.model.numbered_digits import NumberedDigits
from sdy.partitioner.layout_search.graph import LayoutGraph, LayoutNode
from sdy.partitioner.layout_search.node import OpLayout


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
        self._memory = memory
        self._known_held: dict[tuple[int, int, int | None], tuple[OpLayout, float]] = {}
        self._flops = [self._local_flops(node, node.op_layout) for node in graph.nodes]

    def held_change(self, move: Mapping[int, OpLayout]) -> float:
        """Return the cost of the bytes that devices hold more after a move, by node."""
        held = sum(self._held(number, op_layout) - self._held(number) for number, op_layout in move.items())
        return self._memory.held_byte_cost * held

    def exceeds_limits(self, number: int, op_layout: OpLayout) -> bool:
        """Return whether a device would compute more than before the search, or hold more at once than allowed."""
        if self.computes_more(number, op_layout):
            return True
        return (
            not self._graph.nodes[number].is_edge
            and self._held(number, op_layout, times=1) > self._memory.max_held_bytes
        )

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
