"""Grow moves of several nodes at once, which may save bytes although no single node does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from math import inf
from typing import NamedTuple

from sdy.model.numbered_digits import DigitTuple
from sdy.partitioner.layout_search.graph import NodeTensor
from sdy.partitioner.layout_search.node import OpLayout
from sdy.partitioner.layout_search.state import NO_MOVE, LayoutMove, SearchState

Grow = Callable[[SearchState, int, OpLayout], LayoutMove]  # grows a move from a node and its new op layout

MAX_NODES = 300  # of one move
TOLERANCE = 4.0
LARGE_SHARE = 0.02  # of the cost of a program: moves from nodes that cost so much may cost any amount on the way
MAX_RETRIED_VALUES = 8  # of a node that is tried again after it did not join a move
EPSILON = 1e-6


def single(state: SearchState, number: int, op_layout: OpLayout) -> LayoutMove:
    """Return the move of one node."""
    return {number: op_layout}


def flooded(state: SearchState, number: int, op_layout: OpLayout) -> LayoutMove:
    """Return the move that starts with one node and spreads to neighbours, as long as it costs no more than no move.

    This propagates a layout through all ops between two transfers.
    """
    return _flooded(state, number, op_layout, budget=0.0)


def tolerant(state: SearchState, number: int, op_layout: OpLayout) -> LayoutMove:
    """Return a move that spreads although the cost increases at first, and ends with the node where it is least.

    The cost may exceed that before the move by `TOLERANCE` times the cost of the values of the first node. A value that
    is used in a forward and a backward pass is transferred for the one until the ops of the other have joined, too.
    Any increase is allowed if the first node has a large share of all costs: until a loop has joined as well as the op
    that stores a result of each trip, each trip transfers the results of all trips.
    """
    own = sum(state.costs[value] for value in {*state.graph.nodes[number].values})
    budget = inf if own >= LARGE_SHARE * sum(state.costs) else TOLERANCE * own
    return _flooded(state, number, op_layout, budget) if own else NO_MOVE


def _flooded(state: SearchState, number: int, op_layout: OpLayout, budget: float) -> LayoutMove:
    """Grow a move, and return it up to the last node with which its cost was least.

    A node joins if it does not increase the cost, or if the cost of the move stays at most `budget`: what the first
    nodes of a move save may be spent on the way to saving more.
    """
    move = {number: op_layout}
    costs = {value: state.cost(value, move) for value in state.graph.nodes[number].values}  # after the move
    pending = deque([number])
    declined: set[int] = set()  # edges with many values: trying them is slow, and most would not join later
    cost = least = state.change(move)
    kept = 1
    while pending and len(move) < MAX_NODES:
        leader = pending.popleft()
        layouts = state.layouts(leader, move)
        for index, value in enumerate(state.graph.nodes[leader].values):
            dims = layouts[index].dims
            for end in state.graph.values[value].ends:
                if end.node in move or end.node in declined:
                    continue
                joining = _joining_run(state, end, dims, move, costs, max(0.0, budget - cost))
                if joining is not None:
                    move[end.node] = joining.op_layout
                    costs.update(joining.costs)
                    pending.append(end.node)
                    cost += joining.change
                    if cost <= least + EPSILON:
                        least, kept = cost, len(move)
                elif len(state.graph.nodes[end.node].values) > MAX_RETRIED_VALUES:
                    declined.add(end.node)
    return dict(islice(move.items(), kept))


class _Joining(NamedTuple):
    """The op layout with which a node joins a move, the bytes sent that this adds, and the new costs of its values."""

    op_layout: OpLayout
    change: float
    costs: Mapping[int, float]


def _joining_run(
    state: SearchState,
    end: NodeTensor,
    dims: tuple[DigitTuple, ...],
    move: dict[int, OpLayout],
    costs: Mapping[int, float],
    budget: float,
) -> _Joining | None:
    """Return the op layout with which a node uses or produces a value sharded like `dims`.

    `costs` are those of the values that the move touches, after the move. None if the op layout would add more than
    `budget` bytes to the cost of the move.
    """
    node = state.graph.nodes[end.node]
    if node.op_layout.layouts[end.position].dims == dims:
        return None
    possible = node.kind.op_layouts_with(end.position, dims, node.op_layout.assignment)
    op_layouts = [each for each in possible if not state.resources.exceeds_limits(end.node, each)]
    if not op_layouts:
        return None
    values = {*node.values}
    before = sum([costs[value] if value in costs else state.costs[value] for value in values])
    best, least = None, before + budget + EPSILON
    for op_layout in op_layouts:
        move[end.node] = op_layout
        found = _costs_up_to(state, least, values, move)
        if found is not None:
            least = sum(found.values())
            best = _Joining(op_layout, least - before, found)
    del move[end.node]
    return best


def _costs_up_to(state: SearchState, limit: float, values: Iterable[int], move: LayoutMove) -> dict[int, float] | None:
    """Return the cost of each value after a move; None as soon as their sum exceeds `limit`."""
    costs: dict[int, float] = {}
    total = 0.0
    for value in values:
        costs[value] = cost = state.cost(value, move)
        total += cost
        if total > limit:
            return None
    return costs


def delayed(state: SearchState, number: int, op_layout: OpLayout) -> LayoutMove:
    """Return the move in which all linear users of a node use its partial results without a reduction."""
    partial = op_layout.layouts[-1].unreduced
    move = {number: op_layout}
    pending = deque([number] if partial else [])
    while pending:
        leader = state.graph.nodes[pending.popleft()]
        for value in leader.values[len(leader.kind.rule.operands) :]:
            for end in state.graph.values[value].users:
                if end.node not in move:
                    accepting = _op_layout_with_partial(state, end, partial, move)
                    if accepting is not None:
                        move[end.node] = accepting
                        pending.append(end.node)
    return move


def _op_layout_with_partial(
    state: SearchState, end: NodeTensor, partial: DigitTuple, move: LayoutMove
) -> OpLayout | None:
    """Return the op layout in which a node reduces neither an operand nor others that are equally partial."""
    node = state.graph.nodes[end.node]
    own = node.values[end.position]
    partial_operands = tuple(
        value == own or state.layout(value, move).unreduced == partial
        for value in node.values[: len(node.kind.rule.operands)]
    )
    accepting = node.op_layout.assignment._replace(partial=partial, partial_operands=partial_operands)
    return node.kind.op_layout(accepting) if partial_operands in node.kind.partial_sets else None
