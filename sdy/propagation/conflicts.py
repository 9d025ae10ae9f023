"""Conflicts that remain after propagation: which tensors of an op disagree, what stopped an axis, and who won it.

The tensors of an op should be sharded alike along each factor. If one is sharded further than another, something kept
the other from following, and the partitioner will have to insert a reshard. Propagation can shard two dims alike if two
tensors of an op have them mapped to one factor of its sharding rule.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import NamedTuple

from sdy.model.axis import AxisRef, overlaps
from sdy.model.axis_list import is_strict_list_prefix
from sdy.model.mesh_table import common_mesh
from sdy.model.rule import FactorIndex
from sdy.model.sharding import TensorSharding
from sdy.propagation.graph import MISSING, PROPAGATING, Direction, Graph, Node, NodeKind, Value
from sdy.propagation.projection import Projection, TensorProjection, project
from sdy.propagation.strategies.aggressive import Claim, claim
from sdy.propagation.strategies.candidates import candidate
from sdy.propagation.trace import Arrival, History, Site, holders_of


class TiedDim(NamedTuple):
    """A dim of the value whose sharding is stored in `holder`."""

    holder: Value
    dim: int


class Tie(NamedTuple):
    """A step from one dim to another: along `factor` of `site`, between the tensors with these indices.

    `site` is None between the members of a sharding group.
    """

    start: TiedDim
    end: TiedDim
    site: Site | None = None
    factor: FactorIndex = FactorIndex(0)
    start_tensor: int = 0
    end_tensor: int = 0

    def reversed(self) -> Tie:
        """Return the same step in the other direction."""
        return Tie(self.end, self.start, self.site, self.factor, self.end_tensor, self.start_tensor)


class TiedDims:
    """Searches the dims of a graph that are tied to a dim, directly or through other dims."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._tensors: dict[Value, list[tuple[Site, int]]] = {}
        sites: list[Site] = [node for node in graph.nodes if node.kind in PROPAGATING and not node.is_erased]
        for site in (*sites, *graph.main_results):
            for index, holder in enumerate(holders_of(site)):
                if holder is not None:
                    self._tensors.setdefault(holder, []).append((site, index))

    def search(self, start: TiedDim) -> Iterator[Tie]:
        """Yield a step to each dim that is tied to `start`, directly or through others, the nearest dims first."""
        reached = {start}
        queue = deque([start])
        while queue:
            for tie in self.ties(queue.popleft()):
                if tie.end not in reached:
                    reached.add(tie.end)
                    queue.append(tie.end)
                    yield tie

    def ties(self, start: TiedDim) -> Iterator[Tie]:
        """Yield the steps from a dim to the dims that are tied to it directly."""
        for site, index in self._tensors.get(start.holder, ()):
            yield from self._ties_at(start, site, index)
        for other in start.holder.grouped_holders:
            yield Tie(start, TiedDim(other, start.dim))

    def _ties_at(self, start: TiedDim, site: Site, index: int) -> Iterator[Tie]:
        rule = self._graph.rules.value(site.rule)
        holders = holders_of(site)
        if start.dim >= len(rule.tensors[index]):
            return
        for factor in rule.tensors[index][start.dim]:
            if factor in rule.blocked:
                continue
            for other, (mapping, holder) in enumerate(zip(rule.tensors, holders, strict=True)):
                if holder is None or other == index:
                    continue
                for dim, factors in enumerate(mapping):
                    if factor in factors:
                        yield Tie(start, TiedDim(holder, dim), site, factor, index, other)


def is_stopped_by_barrier(tie: Tie) -> bool:
    """Return whether a propagation barrier keeps axes from moving along a step."""
    if not isinstance(tie.site, Node) or tie.site.kind is not NodeKind.BARRIER:
        return False
    needed = Direction.FORWARD if tie.start_tensor < tie.end_tensor else Direction.BACKWARD
    return not tie.site.direction & needed


class Obstacle(Enum):
    """A reason why a tensor cannot take an axis along a factor."""

    CLOSED_DIM = auto()  # the dim is closed
    EXPLICIT_AXIS = auto()  # the axis is explicitly replicated, or unreduced
    OTHER_DIM = auto()  # another dim of the tensor uses the axis
    OTHER_AXIS = auto()  # the dim has another axis in that position
    NO_ROOM = auto()  # the dim is not divisible, or the axes before leave no room


@dataclass(frozen=True, slots=True)
class Contest:
    """Two factors that claimed one axis in the same step. The smaller claim won."""

    winner: Claim
    loser: Claim


@dataclass(frozen=True, slots=True)
class Conflict:
    """A conflict at `site`: `source` has `axis` along `factor`, but `target` cannot take it.

    `source` and `target` are tensor indices, operands first. `rival` is the factor whose dim uses the axis, or `factor`
    itself if another axis is in that position; `rival_axis` is the axis found there. `arrival` is the step that
    propagated it, None if it was there from the start.
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
    """Yield the conflicts of a graph after propagation, in program order. Barriers are not conflicts."""
    sites: list[Site] = [node for node in graph.nodes if node.kind in (NodeKind.RULE, NodeKind.EDGE)]
    without: set[SiteKey] = set()  # the keys of sites without conflicts: most sites share a few keys
    for site in (*sites, *graph.main_results):
        if isinstance(site, Node) and site.is_erased:
            continue
        key = _key(site)
        if key not in without:
            conflicts = list(_at_site(graph, site))
            yield from (_with_contest(conflict, history) for conflict in conflicts)
            if not conflicts:
                without.add(key)


SiteKey = tuple[object, ...]


def _key(site: Site) -> SiteKey:
    """Return a key that is equal for sites which have conflicts along the same factors: their rules and shardings."""
    holders = holders_of(site)
    numbers = tuple(MISSING if holder is None else holder.sharding for holder in holders)
    same_holders = tuple(map(holders.index, holders))
    has_tensor = tuple(holder is not None for holder in holders)
    own = (site.boundary, site.is_elementwise) if isinstance(site, Node) else ()
    return site.rule, numbers, same_holders, has_tensor, own


def _at_site(graph: Graph, site: Site) -> Iterator[Conflict]:
    """Yield the conflicts at a site, without the steps that led to them."""
    rule, projection = graph.rules.value(site.rule), _projection(graph, site)
    if projection is not None:
        for number in range(len(rule.factor_sizes)):
            if number not in rule.blocked:
                yield from _along_factor(site, projection, FactorIndex(number))


def conflict_at(graph: Graph, history: History, tie: Tie, axis: AxisRef) -> Conflict | None:
    """Return what keeps `axis` from moving from the start to the end of a tie; None if nothing at this op does.

    `tie.site` must not be None, and the start must be sharded along the axis. None also means that an axis before it
    in the list of the start is missing at the end.
    """
    assert tie.site is not None
    projection = _projection(graph, tie.site)
    if projection is None:
        return None
    start, end = (projection.tensors[index].axes(tie.factor) for index in (tie.start_tensor, tie.end_tensor))
    if start is None or end is None:
        return None
    conflict = Conflict(tie.site, tie.factor, axis, tie.start_tensor, tie.end_tensor, Obstacle.NO_ROOM)
    if is_strict_list_prefix(end, start) or not end:
        return _with_contest(_with_obstacle(conflict, projection.tensors[tie.end_tensor]), history)
    other = next((own for own, required in zip(end, start, strict=False) if own != required), end[-1])
    return _with_contest(replace(conflict, obstacle=Obstacle.OTHER_AXIS, rival=tie.factor, rival_axis=other), history)


def _projection(graph: Graph, site: Site) -> Projection | None:
    """Return the shardings of the tensors of a site by factor; None if they are not on one mesh of several devices."""
    shardings = _tensor_shardings(graph, site)
    common = common_mesh(shardings, graph.meshes)
    if common is None or common.mesh.is_maximal:
        return None
    return project(graph.rules.value(site.rule), shardings, common.mesh)


def _tensor_shardings(graph: Graph, site: Site) -> tuple[TensorSharding | None, ...]:
    """Return the shardings of the tensors of a site; for an edge, the result sharding as its sources see it."""
    numbers = [MISSING if holder is None else holder.sharding for holder in holders_of(site)]
    shardings = [None if number == MISSING else graph.shardings.value(number) for number in numbers]
    stored = shardings[-1] if shardings else None
    if isinstance(site, Node) and site.boundary is not None and stored is not None:
        shardings[-1] = site.boundary.seen_by_sources(stored)
    return tuple(shardings)


def _along_factor(site: Site, projection: Projection, factor: FactorIndex) -> Iterator[Conflict]:
    """Compare the first of the tensors that are sharded furthest along the factor with each other tensor."""
    holders = holders_of(site)
    lists = {
        index: axes
        for index, tensor in enumerate(projection.tensors)
        if holders[index] is not None and (axes := tensor.axes(factor)) is not None
    }
    if not any(lists.values()):
        return
    source = max(lists, key=lambda index: (len(lists[index]), -index))
    compared = {holders[source]}
    for target in lists:
        if holders[target] not in compared:
            compared.add(holders[target])
            conflict = _between(site, projection, factor, source, target)
            if conflict is not None:
                yield conflict


def _between(site: Site, projection: Projection, factor: FactorIndex, source: int, target: int) -> Conflict | None:
    source_axes, target_axes = (projection.tensors[index].factors[factor].axes for index in (source, target))
    if is_strict_list_prefix(source_axes, target_axes):  # the last axis of the target is longer
        source, target, source_axes, target_axes = target, source, target_axes, source_axes
    if target_axes == source_axes:
        return None
    if is_strict_list_prefix(target_axes, source_axes):
        if _depends_on_other_conflicts(site, projection, factor, target):
            return None
        conflict = Conflict(
            site, factor, source_axes[min(len(target_axes), len(source_axes) - 1)], source, target, Obstacle.NO_ROOM
        )
        return _with_obstacle(conflict, projection.tensors[target])
    pairs = zip(source_axes, target_axes, strict=False)
    axis, other = next((pair for pair in pairs if pair[0] != pair[1]), (source_axes[0], target_axes[0]))
    return Conflict(site, factor, axis, source, target, Obstacle.OTHER_AXIS, rival=factor, rival_axis=other)


def _depends_on_other_conflicts(site: Site, projection: Projection, factor: FactorIndex, target: int) -> bool:
    """Return whether the target would follow if other tensors did, whose conflicts are reported as well.

    Either the others disagree, so that no common axes are left to follow; or the target is an operand of an
    element-wise op, which is never sharded further than the results.
    """
    offered = candidate(projection, factor, Direction.BOTH)
    if not is_strict_list_prefix(projection.tensors[target].factors[factor].axes, offered):
        return True
    if not isinstance(site, Node) or not site.is_elementwise or target >= len(projection.operands):
        return False
    limits = (result.axes(factor) for result in projection.results)
    return any(limit is not None and is_strict_list_prefix(limit, offered) for limit in limits)


def _with_obstacle(conflict: Conflict, tensor: TensorProjection) -> Conflict:
    """Return the conflict with the reason why `tensor`, the target, cannot take the axis after those it has."""
    if any(overlaps(conflict.axis, axis) for axis in (*tensor.replicated, *tensor.unreduced)):
        return replace(conflict, obstacle=Obstacle.EXPLICIT_AXIS)
    for other, entry in tensor.factors.items():
        used = next((axis for axis in (*entry.axes, *entry.overflow) if overlaps(axis, conflict.axis)), None)
        if other != conflict.factor and used is not None:
            return replace(conflict, obstacle=Obstacle.OTHER_DIM, rival=other, rival_axis=used)
    is_closed = tensor.factors[conflict.factor].is_closed
    return replace(conflict, obstacle=Obstacle.CLOSED_DIM) if is_closed else conflict


def _with_contest(conflict: Conflict, history: History) -> Conflict:
    """Return the conflict with the step that propagated the rival axis, and the contest in that step, if any."""
    holder = holders_of(conflict.site)[conflict.target]
    if conflict.rival_axis is None or holder is None:
        return conflict
    arrival = history.arrival(holder, conflict.rival_axis)
    if arrival is None or arrival.step.site is not conflict.site or arrival.target is not holder:
        return replace(conflict, arrival=arrival)
    return replace(conflict, arrival=arrival, contest=_contest(arrival, conflict.factor))


def _contest(arrival: Arrival, loser: FactorIndex) -> Contest | None:
    """Return the claims of both factors in the step that propagated the axis; None if only one factor had a claim."""
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
