"""Grow moves of several nodes at once, which may save bytes although no single node does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from math import inf
from typing import NamedTuple

from sdy.model.mesh_digits import DigitTuple
from sdy.partitioner.layout_search.graph import NodeTensor
from sdy.partitioner.layout_search.node import Assignment, OpLayout, PartialOperands
from sdy.partitioner.layout_search.state import NO_MOVE, LayoutMove, SearchState

Grow = Callable[[SearchState, int, OpLayout], LayoutMove]  # grows a move from a node and its new op layout

MAX_NODES = 300  # of one move
TOLERANCE = 4.0
LARGE_SHARE = 0.02  # of the cost of a program: moves from nodes that cost so much may cost any amount on the way
MAX_RETRIED_VALUES = 8  # of a node that is tried again after it did not join a move
MAX_PULLED = 16  # ops in a row that pass a partial value on, from its reduction to where it is added
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
    that stores a result of each trip, each trip transfers the results of all trips. A node that joins with a partial
    result brings the linear users with which it is reduced later: a loop that adds gradients up reduces their sum.
    """
    own = state.node_cost(number)
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
                    # Moves without a budget are tried for many op layouts, and have to be fast.
                    if budget and state.patterns.delay:
                        cost += _delay(state, end.node, move, costs)
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
    """Return the move in which linear users of a node use its partial results without a reduction."""
    move = {number: op_layout}
    _delay(state, number, move, {value: state.cost(value, move) for value in state.touched(move)})
    return move


def _delay(state: SearchState, number: int, move: dict[int, OpLayout], costs: dict[int, float]) -> float:
    """Add linear users of a node to a move, which use its partial results; return the bytes that this adds.

    What they add to the results becomes partial too: linear producers pass partial values on, and of another value one
    device holds all and the others hold zeros. The move ends where its cost is least. `costs` are those of the values
    that the move touches, after the move.
    """
    partial = move[number].layouts[-1].unreduced
    if not partial:
        return 0.0
    grown, known = dict(move), dict(costs)
    pending = deque([number])
    cost = least = 0.0
    kept = len(move)
    while pending and len(grown) < MAX_NODES:
        leader = pending.popleft()
        for value in state.graph.nodes[leader].values:
            if not _is_produced_by(state, value, leader):
                continue
            for end in state.graph.values[value].users:
                joined = () if end.node in grown else _accept(state, end, partial, grown)
                if joined:
                    pending.extend(joined)
                    added = {each: grown[each] for each in joined}
                    after = {each: state.cost(each, grown) for each in state.touched(added)}
                    cost += sum(sent - known.get(each, state.costs[each]) for each, sent in after.items())
                    cost += state.resources.held_change(added)
                    known |= after
                    if cost < least - EPSILON:
                        least, kept = cost, len(grown)
    added = dict(islice(grown.items(), len(move), kept))
    move |= added
    costs |= {value: state.cost(value, move) for value in state.touched(added)}
    return least


def _is_produced_by(state: SearchState, value: int, node: int) -> bool:
    producer = state.graph.values[value].producer
    return producer is not None and producer.node == node


def _accept(state: SearchState, end: NodeTensor, partial: DigitTuple, move: dict[int, OpLayout]) -> list[int]:
    """Add the node of a user to a move, so that it uses a partial value, and the producers of what it adds to it.

    Return the nodes that joined; none if the node is not linear in this operand.
    """
    node = state.graph.nodes[end.node]
    own = node.values[end.position]

    def missing(operands: PartialOperands) -> list[int]:
        """Return the other operands that have to become partial."""
        values = [value for value, is_partial in zip(node.values, operands, strict=False) if is_partial]
        return [value for value in values if value != own and state.layout(value, move).unreduced != partial]

    linear = [operands for operands in node.kind.partial_sets if operands[end.position]]
    for operands in sorted(linear, key=lambda operands: len(missing(operands))):
        op_layout = _with_partial(state, end.node, partial, operands)
        if op_layout is not None:
            move[end.node] = op_layout
            others = missing(operands)
            return [end.node, *(joined for value in others for joined in _pull(state, value, partial, move))]
    return []


def _with_partial(state: SearchState, number: int, partial: DigitTuple, operands: PartialOperands) -> OpLayout | None:
    """Return the op layout of a node with these operands partial, and nothing sharded along the same digits."""
    node = state.graph.nodes[number]
    factors = tuple(
        tuple(digit for digit in digits if digit not in partial) for digits in node.op_layout.assignment.factors
    )
    op_layout = node.kind.op_layout(Assignment(factors, partial, operands))
    return None if op_layout is None or state.resources.exceeds_limits(number, op_layout) else op_layout


def _pull(
    state: SearchState, value: int, partial: DigitTuple, move: dict[int, OpLayout], depth: int = MAX_PULLED
) -> list[int]:
    """Add the producer of a value to a move, so that it yields the value partial, if one of its operands can be.

    Return the nodes that joined.
    """
    producer = state.graph.values[value].producer
    if not depth or producer is None or producer.node in move or state.layout(value, move).unreduced == partial:
        return []
    number, node = producer.node, state.graph.nodes[producer.node]
    for operands in node.kind.partial_sets:
        op_layout = _with_partial(state, number, partial, operands)
        if op_layout is None:
            continue
        move[number] = op_layout
        own = [each for each, is_partial in zip(node.values, operands, strict=False) if is_partial]
        sources = [each for each in own if not _is_produced_by(state, each, number)]
        joined = [number, *(each for source in sources for each in _pull(state, source, partial, move, depth - 1))]
        if node.is_edge or any(state.layout(source, move).unreduced == partial for source in sources):
            return joined
        for each in joined:
            del move[each]
    return []
