"""Describes the conflicts of a propagation: which tensors disagree, what prevented agreement, and why."""

from __future__ import annotations

from collections.abc import Iterator

from sdy.propagation.conflicts import Conflict, Contest, Obstacle
from sdy.propagation.history import History
from sdy.propagation.trace import holders_of
from sdy.report.explanation.trace_descriptions import TraceDescriptions


def conflict_lines(conflict: Conflict, descriptions: TraceDescriptions, history: History) -> Iterator[str]:
    """Yield a sentence for the conflict and, if another axis was chosen, an indented sentence with the reason."""
    site, axis = conflict.site, conflict.axis
    source, target = (
        f"{descriptions.dim(site, tensor, conflict.factor)} of {descriptions.tensor(site, tensor)}"
        for tensor in (conflict.source, conflict.target)
    )
    yield f"{source} is sharded along {axis}, but {target} is not: {_obstacle(conflict, descriptions)}"
    if conflict.contest is not None:
        yield f"  {_contest(conflict, conflict.contest, descriptions)}"
    elif conflict.rival_axis is not None:
        yield f"  {_earlier_axis(conflict, descriptions, history)}"


def _obstacle(conflict: Conflict, descriptions: TraceDescriptions) -> str:
    match conflict.obstacle:
        case Obstacle.CLOSED_DIM:
            return "that dim is closed"
        case Obstacle.EXPLICIT_AXIS:
            return f"that tensor is explicitly replicated or unreduced along {conflict.axis}"
        case Obstacle.OTHER_DIM:
            assert conflict.rival is not None
            dim = descriptions.dim(conflict.site, conflict.target, conflict.rival)
            return f"{dim} of that tensor is sharded along {conflict.rival_axis}"
        case Obstacle.OTHER_AXIS:
            return f"that dim is sharded along {conflict.rival_axis} instead"
        case Obstacle.NO_ROOM:
            return f"that dim cannot be divided further by {conflict.axis}"


def _contest(conflict: Conflict, contest: Contest, descriptions: TraceDescriptions) -> str:
    """Describe two dims that could have been sharded along the axis in the same step, and why one was chosen."""
    site, winner, loser = conflict.site, contest.winner, contest.loser
    won, lost = (descriptions.dim(site, conflict.target, claim.factor) for claim in (winner, loser))
    chosen = f"{won} and {lost} competed for the axis in the same step, and {won} was chosen"
    sources = [descriptions.tensor(site, claim.source) for claim in (winner, loser)]
    if winner.negative_source_size != loser.negative_source_size:
        sizes = [f"{-claim.negative_source_size:,}" for claim in (winner, loser)]
        return (
            f"{chosen}: its source is larger ({sources[0]} has {sizes[0]} elements, {sources[1]} has only {sizes[1]})"
        )
    if winner.negative_devices != loser.negative_devices:
        shards = [f"{-claim.negative_devices:,}" for claim in (winner, loser)]
        return f"{chosen}: its axes make more shards ({shards[0]} instead of {shards[1]})"
    if winner.source != loser.source:
        return f"{chosen}: its source comes first ({sources[0]} before {sources[1]}, which has the same size)"
    return f"{chosen}: its factor comes first in the sharding rule, and the sources have the same size"


def _earlier_axis(conflict: Conflict, descriptions: TraceDescriptions, history: History) -> str:
    """Describe the origin of an axis that was there before `conflict.axis` could be propagated."""
    holder = holders_of(conflict.site)[conflict.target]
    assert holder is not None
    assert conflict.rival_axis is not None
    chain = history.path(holder, conflict.rival_axis)
    line, root = descriptions.root(chain.root)
    if conflict.arrival is None:
        return f"{conflict.rival_axis} was there initially: {line}, {root}"
    site = conflict.arrival.step.site
    first = (
        f"{conflict.rival_axis} was propagated first, through {descriptions.site(site)} on {descriptions.line(site)}"
    )
    return f"{first}; it originates from {line}, {root}"
