"""A conflict of a propagation in words: who wanted what, what was in the way, and why that won."""

from __future__ import annotations

from collections.abc import Iterator

from sdy.propagation.conflicts import Conflict, Contest, Obstacle
from sdy.propagation.history import History
from sdy.propagation.trace import holders_of
from sdy.report.trace_descriptions import TraceDescriptions


def conflict_lines(conflict: Conflict, descriptions: TraceDescriptions, history: History) -> Iterator[str]:
    """The conflict, then who won it where another axis did."""
    site, axis = conflict.site, conflict.axis
    source = (
        f"{descriptions.dim(site, conflict.source, conflict.factor)} of {descriptions.tensor(site, conflict.source)}"
    )
    target = (
        f"{descriptions.dim(site, conflict.target, conflict.factor)} of {descriptions.tensor(site, conflict.target)}"
    )
    yield f"{axis} cuts {source}, but not {target}: {_obstacle(conflict, descriptions)}"
    if conflict.contest is not None:
        yield f"  {_contest(conflict, conflict.contest, descriptions)}"
    elif conflict.rival_axis is not None:
        yield f"  {_first(conflict, descriptions, history)}"


def _obstacle(conflict: Conflict, descriptions: TraceDescriptions) -> str:
    match conflict.obstacle:
        case Obstacle.CLOSED_DIM:
            return "that dim is closed"
        case Obstacle.EXPLICIT_AXIS:
            return f"{conflict.axis} is explicitly replicated or unreduced there"
        case Obstacle.OTHER_DIM:
            assert conflict.rival is not None
            return (
                f"{conflict.rival_axis} cuts {descriptions.dim(conflict.site, conflict.target, conflict.rival)} there"
            )
        case Obstacle.OTHER_AXIS:
            return f"{conflict.rival_axis} is in its place"
        case Obstacle.NO_ROOM:
            return "what is left of that dim cannot be divided by it"


def _contest(conflict: Conflict, contest: Contest, descriptions: TraceDescriptions) -> str:
    """Both wanted the axis in one step: what made the difference."""
    site, winner, loser = conflict.site, contest.winner, contest.loser
    won, lost = (descriptions.dim(site, conflict.target, claim.factor) for claim in (winner, loser))
    both = f"{won} and {lost} wanted it in the same step, and {won} won"
    sources = [descriptions.tensor(site, claim.source) for claim in (winner, loser)]
    if winner.negative_source_size != loser.negative_source_size:
        sizes = [f"{-claim.negative_source_size:,}" for claim in (winner, loser)]
        return (
            f"{both}: its source is larger, {sources[0]} with {sizes[0]} elements against {sources[1]} with {sizes[1]}"
        )
    if winner.negative_devices != loser.negative_devices:
        devices = [f"{-claim.negative_devices:,}" for claim in (winner, loser)]
        return f"{both}: its axes cut into more pieces, {devices[0]} against {devices[1]}"
    if winner.source != loser.source:
        return f"{both}: its source is the earlier tensor, {sources[0]} before {sources[1]}, of the same size"
    return f"{both}: it comes first in the sharding rule, and the sources are of the same size"


def _first(conflict: Conflict, descriptions: TraceDescriptions, history: History) -> str:
    """The other axis was there before: where from."""
    holder = holders_of(conflict.site)[conflict.target]
    assert holder is not None
    assert conflict.rival_axis is not None
    chain = history.chain(holder, conflict.rival_axis)
    line, root = descriptions.root(chain.root)
    if conflict.arrival is None:
        return f"{conflict.rival_axis} was there from the start: {line}, {root}"
    through = conflict.arrival.step.site
    came = f"{conflict.rival_axis} came first, through {descriptions.site(through)} on {descriptions.line(through)}"
    return f"{came}; it goes back to {line}, {root}"
