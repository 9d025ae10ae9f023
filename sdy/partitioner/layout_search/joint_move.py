"""A move of all ops at once: the layouts of least cost if each mesh axis shards one factor of an op, or none.

The local search changes few ops at a time, and ends where no such move saves anything. The best layouts of a loop often
differ in most ops, for what its values are carried in decides for all of them. With whole axes there are so few layouts
that a cost network of the graph is solved almost exactly; the local search then divides axes where that saves more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, isfinite

import numpy as np

from sdy.partitioner.layout_search.graph import GraphValue, LayoutNode
from sdy.partitioner.layout_search.layout import Layout, TensorSize
from sdy.partitioner.layout_search.layout_network import LayoutNetwork
from sdy.partitioner.layout_search.node import OpLayout
from sdy.partitioner.layout_search.state import NO_MOVE, LayoutMove, SearchState
from sdy.partitioner.network.cost_network import Costs, Table
from sdy.partitioner.network.message_passing import pass_messages
from sdy.partitioner.network.reduction import ReducedNetwork

MAX_PAIRS = 50_000  # of layouts of one op, in all; tables have about as many entries
GAP = 0.01  # the relative difference of cost and bound at which messages end


def joint_move(state: SearchState) -> LayoutMove:
    """Return the layouts of all ops that change; none if the graph or its choices are many, or if nothing is better."""
    choices: list[tuple[OpLayout, ...]] = []
    pairs = 0
    for number, node in enumerate(state.graph.nodes):
        choices.append(tuple(_choices(state, number, node)))
        pairs += len(choices[-1]) ** 2
        if pairs > MAX_PAIRS:
            return NO_MOVE
    network = _TransferNetwork(state, choices)
    reduced = ReducedNetwork(network.network)
    labels: dict[int, int] = {}
    if reduced.remaining:
        found = pass_messages(reduced.network, list(reduced.remaining), inf, GAP)
        if not isfinite(found.cost):
            return NO_MOVE
        labels = found.labels
    chosen = enumerate(zip(state.graph.nodes, network.chosen(reduced.labels(labels)), strict=True))
    return {number: op_layout for number, (node, op_layout) in chosen if op_layout != node.op_layout}


def _choices(state: SearchState, number: int, node: LayoutNode) -> Iterator[OpLayout]:
    """Yield the current layout of a node, and those with whole axes that need no more than devices may hold."""
    yield node.op_layout
    axes = state.digits.by_axis(range(len(state.digits.sizes)))
    for op_layout in node.kind.op_layouts_beside(node.kind.assignment({}), axes):
        is_allowed = state.patterns.delay or not op_layout.assignment.partial
        if is_allowed and op_layout != node.op_layout and not state.resources.exceeds_limits(number, op_layout):
            yield op_layout


class _TransferNetwork(LayoutNetwork):
    """The costs of a search state: the bytes that are sent and those that are held."""

    def __init__(self, state: SearchState, choices: Sequence[Sequence[OpLayout]]) -> None:
        self._price = state.transfers.price
        self._tables: dict[tuple[TensorSize, Sequence[Layout], Sequence[Layout]], Table] = {}
        held = (_held(state, number, own) for number, own in enumerate(choices))
        super().__init__(state.graph, choices, held)

    def table(self, value: GraphValue, sources: Sequence[Layout], targets: Sequence[Layout]) -> Table:
        """Return the bytes that are sent to bring a value once from each source (rows) to each target (columns)."""
        key = value.tensor, sources, targets
        if key not in self._tables:
            rows = [[self._price(source, target, value.tensor) for target in targets] for source in sources]
            self._tables[key] = np.array(rows, dtype=np.float64)
        return self._tables[key]


def _held(state: SearchState, number: int, choices: Sequence[OpLayout]) -> Costs:
    return np.array([state.resources.held_change({number: op_layout}) for op_layout in choices])
