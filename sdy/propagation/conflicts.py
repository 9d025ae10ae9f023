"""Where tensors of an op disagree when propagation is over, what stopped the axis, and who won it.

Along each factor of an op the tensors should be cut alike. Where one is cut further than another, something kept the
other from following: an open question for the partitioner, which will have to reshard.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto

from sdy.model.axis import AxisRef, overlaps
from sdy.model.axis_list import is_strict_list_prefix
from sdy.model.mesh_table import common_mesh
from sdy.model.rule import FactorIndex
from sdy.model.sharding import TensorSharding
from sdy.propagation.graph import MISSING, Direction, Graph, Node, NodeKind
from sdy.propagation.history import Arrival, History
from sdy.propagation.manual_boundary import seen_by_sources
from sdy.propagation.projection import Projection, TensorProjection, project
from sdy.propagation.strategies.aggressive import Claim, claim
from sdy.propagation.strategies.candidates import candidate
from sdy.propagation.trace import Site, holders_of


class Obstacle(Enum):
    """What keeps a tensor from taking an axis along a factor."""

    CLOSED_DIM = auto()  # the dim is closed
    EXPLICIT_AXIS = auto()  # the axis is explicitly replicated, or unreduced
    OTHER_DIM = auto()  # another dim of the tensor has the axis
    OTHER_AXIS = auto()  # the dim has another axis in its place
    NO_ROOM = auto()  # the size of the dim is not divisible, or what was cut before leaves nothing


@dataclass(frozen=True, slots=True)
class Contest:
    """Two factors wanted one axis in the same step. The smaller claim won."""

    winner: Claim
    loser: Claim


@dataclass(frozen=True, slots=True)
class Conflict:
    """At `site`, `source` has `axis` along `factor`, and `target` cannot take it.

    `rival` is the factor whose dim has the axis, or the same factor where another axis is in the way; `rival_axis` is
    what is there. `arrival` is the step that brought it, None where it was there from the start.
    """

    site: Site
    factor: FactorIndex
    axis: AxisRef
    source: int
    target: int
    obstacle: Obstacle
    rival: FactorIndex | None = None
    rival_axis: AxisRef | None = None
    arrival: Arrival | None = None
    contest: Contest | None = None


def conflicts_of(graph: Graph, history: History) -> Iterator[Conflict]:
    """The conflicts of a graph whose propagation is over, in program order. Barriers are as the user wanted them."""
    sites: list[Site] = [node for node in graph.nodes if node.kind in (NodeKind.RULE, NodeKind.EDGE)]
    for site in (*sites, *graph.main_results):
        if isinstance(site, Node) and site.is_erased:
            continue
        rule = graph.rules.value(site.rule)
        shardings = _seen(graph, site)
        common = common_mesh(shardings, graph.meshes)
        if common is not None and not common.mesh.is_maximal:
            projection = project(rule, shardings, common.mesh)
            for number in range(len(rule.factor_sizes)):
                if number not in rule.blocked:
                    for conflict in _along_factor(site, projection, FactorIndex(number)):
                        yield _with_contest(conflict, history)


def _seen(graph: Graph, site: Site) -> tuple[TensorSharding | None, ...]:
    """The shardings of the tensors of a site, that of an edge as its sources see it."""
    numbers = [MISSING if holder is None else holder.sharding for holder in holders_of(site)]
    shardings = [None if number == MISSING else graph.shardings.value(number) for number in numbers]
    held = shardings[-1] if shardings else None
    if isinstance(site, Node) and site.boundary is not None and held is not None:
        shardings[-1] = seen_by_sources(site.boundary, held)
    return tuple(shardings)


def _along_factor(site: Site, projection: Projection, factor: FactorIndex) -> Iterator[Conflict]:
    """The first tensor that is cut furthest along the factor, against each other tensor."""
    holders = holders_of(site)
    lists = {
        place: axes
        for place, tensor in enumerate(projection.tensors)
        if holders[place] is not None and (axes := tensor.axes(factor)) is not None
    }
    if not any(lists.values()):
        return
    source = max(lists, key=lambda place: (len(lists[place]), -place))
    compared = {holders[source]}
    for target in lists:
        if holders[target] not in compared:
            compared.add(holders[target])
            conflict = _between(site, projection, factor, source, target)
            if conflict is not None:
                yield conflict


def _between(site: Site, projection: Projection, factor: FactorIndex, source: int, target: int) -> Conflict | None:
    wanted, own = (projection.tensors[place].factors[factor].axes for place in (source, target))
    if is_strict_list_prefix(wanted, own):  # the last axis of the target is longer
        source, target, wanted, own = target, source, own, wanted
    if own == wanted:
        return None
    if is_strict_list_prefix(own, wanted):
        if _waits_for_others(site, projection, factor, target):
            return None
        conflict = Conflict(site, factor, wanted[min(len(own), len(wanted) - 1)], source, target, Obstacle.NO_ROOM)
        return _with_obstacle(conflict, projection.tensors[target])
    pairs = zip(wanted, own, strict=False)
    axis, other = next((pair for pair in pairs if pair[0] != pair[1]), (wanted[0], own[0]))
    return Conflict(site, factor, axis, source, target, Obstacle.OTHER_AXIS, rival=factor, rival_axis=other)


def _waits_for_others(site: Site, projection: Projection, factor: FactorIndex, target: int) -> bool:
    """Whether the target would follow if others did, whose conflicts are found as well.

    Either they disagree among each other, so that there is nothing to follow; or the target is an operand of an
    element-wise op, which is not cut further than the results.
    """
    offered = candidate(projection, factor, Direction.BOTH)
    if not is_strict_list_prefix(projection.tensors[target].factors[factor].axes, offered):
        return True
    if not isinstance(site, Node) or not site.is_elementwise or target >= len(projection.operands):
        return False
    limits = (result.axes(factor) for result in projection.results)
    return any(limit is not None and is_strict_list_prefix(limit, offered) for limit in limits)


def _with_obstacle(conflict: Conflict, tensor: TensorProjection) -> Conflict:
    """Why `tensor`, the target, whose axes along the factor end where the axis would come, does not have it."""
    if any(overlaps(conflict.axis, own) for own in (*tensor.replicated, *tensor.unreduced)):
        return replace(conflict, obstacle=Obstacle.EXPLICIT_AXIS)
    for other, entry in tensor.factors.items():
        used = next((own for own in (*entry.axes, *entry.overflow) if overlaps(own, conflict.axis)), None)
        if other != conflict.factor and used is not None:
            return replace(conflict, obstacle=Obstacle.OTHER_DIM, rival=other, rival_axis=used)
    is_closed = tensor.factors[conflict.factor].is_closed
    return replace(conflict, obstacle=Obstacle.CLOSED_DIM) if is_closed else conflict


def _with_contest(conflict: Conflict, history: History) -> Conflict:
    """The conflict, with how the axis in the way came there, and whether the loser wanted it in the same step."""
    holder = holders_of(conflict.site)[conflict.target]
    if conflict.rival_axis is None or holder is None:
        return conflict
    arrival = history.arrival(holder, conflict.rival_axis)
    if arrival is None or arrival.step.site is not conflict.site or arrival.target is not holder:
        return replace(conflict, arrival=arrival)
    return replace(conflict, arrival=arrival, contest=_contest(arrival, conflict.factor))


def _contest(arrival: Arrival, loser: FactorIndex) -> Contest | None:
    """The claims of both factors in the step that brought the axis; None where only one of them had one."""
    change = arrival.step.change
    winner = arrival.move.factor
    if winner == loser:
        return None
    claims: list[Claim] = []
    for factor in (winner, loser):
        axes = candidate(change.before, factor, change.step.directions[factor])
        if not any(overlaps(axis, arrival.move.axis) for axis in axes):
            return None
        claims.append(claim(change.step, change.before, factor, axes))
    return Contest(*claims)
