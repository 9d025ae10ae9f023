"""Moves of several nodes at once, which pay though none of their parts does alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from sdy.partitioner.communication.graph import End
from sdy.partitioner.communication.layout import Cut
from sdy.partitioner.communication.node import Assignment, merged
from sdy.partitioner.communication.state import Move, State

Grow = Callable[[State, int, Assignment], Move]  # a move from a node and its new assignment on

MOST_NODES = 300  # of one move
EPSILON = 1e-6


def as_it_is(state: State, number: int, assignment: Assignment) -> Move:
    """The move of the one node."""
    return {number: assignment}


def flooded(state: State, number: int, assignment: Assignment) -> Move:
    """The move that starts with one node and takes its neighbours along, as long as it gets no worse by that.

    So a layout spreads through the ops between two that would have to be at odds.
    """
    move = {number: assignment}
    pending = deque([number])
    while pending and len(move) < MOST_NODES:
        leader = pending.popleft()
        layouts = state.layouts(leader, move)
        for place, value in enumerate(state.graph.nodes[leader].values):
            for end in ends(state, value):
                if end.node not in move:
                    following = _following(state, end, layouts[place].dims, move)
                    if following is not None:
                        move[end.node] = following
                        pending.append(end.node)
    return move


def ends(state: State, value: int) -> list[End]:
    """Where a value is read, and made."""
    ended = state.graph.values[value]
    return ended.readers if ended.maker is None else [*ended.readers, ended.maker]


def _following(state: State, end: End, dims: tuple[Cut, ...], move: dict[int, Assignment]) -> Assignment | None:
    """The assignment by which a node takes or gives a value cut like this; None where it had better not."""
    node = state.graph.nodes[end.node]
    if node.layouts[end.place].dims == dims:
        return None
    cuts = node.kind.project(end.place, node.layouts[end.place]._replace(dims=dims))
    if cuts is None:
        return None
    values = {*node.values}
    best, least = None, sum(state.cost(value, move) for value in values) + EPSILON
    for found in (merged(cuts, dict(enumerate(node.assignment.factors))), cuts):
        following = node.assignment._replace(factors=node.kind.assignment(found).factors)
        if node.kind.layouts(following) is None or state.is_too_much(end.node, following):
            continue
        cost = sum(state.cost(value, {**move, end.node: following}) for value in values)
        if cost <= least:
            best, least = following, cost
    return best


def delayed(state: State, number: int, assignment: Assignment) -> Move:
    """The move by which all linear ops behind a node take its partial results as they are."""
    layouts = state.graph.nodes[number].kind.layouts(assignment)
    partial = () if layouts is None else layouts[-1].unreduced
    move = {number: assignment}
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


def _taking_partial(state: State, end: End, partial: Cut, move: Move) -> Assignment | None:
    """The assignment by which a node takes an operand, and whatever else is partial alike, without reducing it."""
    node = state.graph.nodes[end.node]
    own = node.values[end.place]
    is_given = tuple(
        value == own or state.layout(value, move).unreduced == partial
        for value in node.values[: len(node.kind.rule.operands)]
    )
    taking = node.assignment._replace(partial=partial, mode=is_given)
    return taking if is_given in node.kind.modes and node.kind.layouts(taking) is not None else None
