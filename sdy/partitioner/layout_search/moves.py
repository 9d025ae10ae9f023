"""Moves of several nodes at once, which pay though none of their parts does alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from sdy.partitioner.layout_search.graph import End
from sdy.partitioner.layout_search.layout import Cut, Layout
from sdy.partitioner.layout_search.node import Run, merged
from sdy.partitioner.layout_search.state import Move, State

Grow = Callable[[State, int, Run], Move]  # a move from a node and its new run on

MOST_NODES = 300  # of one move
MOST_ASKED_AGAIN = 8  # values of a node that may join a move later than when it is asked first
EPSILON = 1e-6


def as_it_is(state: State, number: int, run: Run) -> Move:
    """The move of the one node."""
    return {number: run}


def flooded(state: State, number: int, run: Run) -> Move:
    """The move that starts with one node and takes its neighbours along, as long as it gets no worse by that.

    So a layout spreads through the ops between two that would have to be at odds.
    """
    move = {number: run}
    pending = deque([number])
    declined: set[int] = set()  # edges of many places: it takes long to ask them, and most would decline again
    while pending and len(move) < MOST_NODES:
        leader = pending.popleft()
        layouts = state.layouts(leader, move)
        for place, value in enumerate(state.graph.nodes[leader].values):
            dims = layouts[place].dims
            for end in state.graph.values[value].ends:
                if end.node not in move and end.node not in declined:
                    following = _following(state, end, dims, move)
                    if following is not None:
                        move[end.node] = following
                        pending.append(end.node)
                    elif len(state.graph.nodes[end.node].values) > MOST_ASKED_AGAIN:
                        declined.add(end.node)
    return move


def _following(state: State, end: End, dims: tuple[Cut, ...], move: dict[int, Run]) -> Run | None:
    """The run by which a node takes or gives a value cut like this; None where it had better not."""
    node = state.graph.nodes[end.node]
    if node.run.layouts[end.place].dims == dims:
        return None
    cuts = node.kind.project(end.place, Layout(dims))
    if cuts is None:
        return None
    ways = (merged(cuts, dict(enumerate(node.run.assignment.factors))), cuts)
    tried = dict.fromkeys(node.run.assignment._replace(factors=node.kind.assignment(way).factors) for way in ways)
    runs = [run for each in tried if (run := node.kind.run(each)) and not state.is_too_much(end.node, run)]
    if not runs:
        return None
    values = {*node.values}
    best, least = None, sum(state.cost(value, move) for value in values) + EPSILON
    for run in runs:
        move[end.node] = run
        cost = state.cost_up_to(least, values, move)
        if cost <= least:
            best, least = run, cost
    del move[end.node]
    return best


def delayed(state: State, number: int, run: Run) -> Move:
    """The move by which all linear ops behind a node take its partial results as they are."""
    partial = run.layouts[-1].unreduced
    move = {number: run}
    pending = deque([number] if partial else [])
    while pending:
        leader = state.graph.nodes[pending.popleft()]
        for value in leader.values[len(leader.kind.rule.operands) :]:
            for end in state.graph.values[value].readers:
                if end.node not in move:
                    taking = _taking_partial(state, end, partial, move)
                    if taking is not None:
                        move[end.node] = taking
                        pending.append(end.node)
    return move


def _taking_partial(state: State, end: End, partial: Cut, move: Move) -> Run | None:
    """The run by which a node takes an operand, and whatever else is partial alike, without reducing it."""
    node = state.graph.nodes[end.node]
    own = node.values[end.place]
    is_given = tuple(
        value == own or state.layout(value, move).unreduced == partial
        for value in node.values[: len(node.kind.rule.operands)]
    )
    taking = node.run.assignment._replace(partial=partial, mode=is_given)
    return node.kind.run(taking) if is_given in node.kind.modes else None
