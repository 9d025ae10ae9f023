"""Grow moves of several nodes at once, which may save bytes although no single node does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from sdy.partitioner.layout_search.graph import NodeTensor
from sdy.partitioner.layout_search.layout import AtomTuple, Layout
from sdy.partitioner.layout_search.node import Run, merged
from sdy.partitioner.layout_search.state import LayoutMove, SearchState

Grow = Callable[[SearchState, int, Run], LayoutMove]  # grows a move from a node and its new run

MAX_NODES = 300  # of one move
MAX_RETRIED_VALUES = 8  # of a node that is tried again after it did not join a move
EPSILON = 1e-6


def single(state: SearchState, number: int, run: Run) -> LayoutMove:
    """Return the move of one node."""
    return {number: run}


def flooded(state: SearchState, number: int, run: Run) -> LayoutMove:
    """Return the move that starts with one node and spreads to neighbours, as long as that does not increase the cost.

    This propagates a layout through all ops between two transfers.
    """
    move = {number: run}
    pending = deque([number])
    declined: set[int] = set()  # edges with many values: trying them is slow, and most would not join later
    while pending and len(move) < MAX_NODES:
        leader = pending.popleft()
        layouts = state.layouts(leader, move)
        for index, value in enumerate(state.graph.nodes[leader].values):
            dims = layouts[index].dims
            for end in state.graph.values[value].ends:
                if end.node not in move and end.node not in declined:
                    joining = _joining_run(state, end, dims, move)
                    if joining is not None:
                        move[end.node] = joining
                        pending.append(end.node)
                    elif len(state.graph.nodes[end.node].values) > MAX_RETRIED_VALUES:
                        declined.add(end.node)
    return move


def _joining_run(state: SearchState, end: NodeTensor, dims: tuple[AtomTuple, ...], move: dict[int, Run]) -> Run | None:
    """Return the run with which a node uses or produces a value sharded like `dims`; None if that would cost more."""
    node = state.graph.nodes[end.node]
    if node.run.layouts[end.position].dims == dims:
        return None
    projected = node.kind.project(end.position, Layout(dims))
    if projected is None:
        return None
    choices = (merged(projected, dict(enumerate(node.run.assignment.factors))), projected)
    tried = dict.fromkeys(node.run.assignment._replace(factors=node.kind.assignment(each).factors) for each in choices)
    runs = [run for each in tried if (run := node.kind.run(each)) and not state.resources.exceeds_limits(end.node, run)]
    if not runs:
        return None
    values = {*node.values}
    best, least = None, sum(state.cost(value, move) for value in values) + EPSILON
    for run in runs:
        move[end.node] = run
        cost = _cost_up_to(state, least, values, move)
        if cost <= least:
            best, least = run, cost
    del move[end.node]
    return best


def _cost_up_to(state: SearchState, limit: float, values: Iterable[int], move: LayoutMove) -> float:
    """Return the cost of several values; the sum stops as soon as it exceeds `limit`."""
    cost = 0.0
    for value in values:
        cost += state.cost(value, move)
        if cost > limit:
            break
    return cost


def delayed(state: SearchState, number: int, run: Run) -> LayoutMove:
    """Return the move in which all linear users of a node use its partial results without a reduction."""
    partial = run.layouts[-1].unreduced
    move = {number: run}
    pending = deque([number] if partial else [])
    while pending:
        leader = state.graph.nodes[pending.popleft()]
        for value in leader.values[len(leader.kind.rule.operands) :]:
            for end in state.graph.values[value].users:
                if end.node not in move:
                    accepting = _run_with_partial(state, end, partial, move)
                    if accepting is not None:
                        move[end.node] = accepting
                        pending.append(end.node)
    return move


def _run_with_partial(state: SearchState, end: NodeTensor, partial: AtomTuple, move: LayoutMove) -> Run | None:
    """Return the run in which a node uses an operand, and others that are equally partial, without reducing them."""
    node = state.graph.nodes[end.node]
    own = node.values[end.position]
    mode = tuple(
        value == own or state.layout(value, move).unreduced == partial
        for value in node.values[: len(node.kind.rule.operands)]
    )
    accepting = node.run.assignment._replace(partial=partial, mode=mode)
    return node.kind.run(accepting) if mode in node.kind.modes else None
