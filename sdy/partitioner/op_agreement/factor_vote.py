"""Vote on the axes of each factor: the candidates are the prefixes of the axes of all tensors, weighted by size.

Source: docs/spec/05, 1.13.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from sdy.model.axis import AxisList
from sdy.model.axis_list import expansion, is_strict_list_prefix, list_order_key, sharded_size, truncate_overlaps
from sdy.model.mesh import Mesh
from sdy.model.rule import FactorIndex, FactorKind, OpShardingRule
from sdy.propagation.projection import Projection

RANK_OF_KIND = {
    FactorKind.PASS_THROUGH: 3,
    FactorKind.REDUCTION: 2,
    FactorKind.PERMUTATION: 1,
    FactorKind.NEED_REPLICATION: 0,
}
Rank = tuple[int, int, int, FactorIndex, tuple[int, tuple[tuple[str, int, int], ...]]]


@dataclass(slots=True)
class _Candidate:
    """The candidate `axes` for `factor`.

    `weight` is the number of elements of the tensors that have them, `gain` the factor by which the shard count grows.
    """

    factor: FactorIndex
    axes: AxisList
    weight: int
    gain: int

    def rank(self, rule: OpShardingRule) -> Rank:
        """Return a sort key: the candidate with the largest one wins. In a tie, the last axis by name wins."""
        kind = RANK_OF_KIND[rule.kind(self.factor)]
        return self.weight, kind, self.gain, self.factor, list_order_key(self.axes)


def vote(rule: OpShardingRule, projection: Projection, elements: tuple[int, ...], mesh: Mesh) -> list[AxisList]:
    """Return the winning axes of each factor. `elements` are the element counts of the operands, then the results."""
    assigned: list[AxisList] = [()] * len(rule.factor_sizes)
    blockers = _dependencies(rule)
    candidates = _candidates(projection, elements, mesh)
    while ready := [candidate for candidate in candidates if not blockers[candidate.factor]]:
        winner = max(ready, key=lambda candidate: candidate.rank(rule))
        assigned[winner.factor] = winner.axes
        if sharded_size(winner.axes, mesh) == rule.factor_sizes[winner.factor]:
            for others in blockers:
                others.discard(winner.factor)
        candidates = [candidate for candidate in candidates if _remains(candidate, winner, assigned, mesh)]
    return assigned


def _dependencies(rule: OpShardingRule) -> list[set[FactorIndex]]:
    """Return for each factor those directly before it in some dim: until these are full, its axes would be strided."""
    blockers: list[set[FactorIndex]] = [set() for _ in rule.factor_sizes]
    for mapping in rule.tensors:
        for dim in mapping:
            for major, minor in pairwise(dim):
                blockers[minor].add(major)
    return blockers


def _candidates(projection: Projection, elements: tuple[int, ...], mesh: Mesh) -> list[_Candidate]:
    distinct = dict.fromkeys(
        (factor, entry.axes[:length])
        for tensor in projection.tensors
        for factor, entry in tensor.factors.items()
        for length in range(1, len(entry.axes) + 1)
    )
    return [
        _Candidate(factor, axes, _weight(projection, elements, factor, axes), sharded_size(axes, mesh))
        for factor, axes in distinct
    ]


def _weight(projection: Projection, elements: tuple[int, ...], factor: FactorIndex, axes: AxisList) -> int:
    tensors = zip(projection.tensors, elements, strict=True)
    return sum(count for tensor, count in tensors if tensor.has_axes(factor, axes))


def _remains(candidate: _Candidate, winner: _Candidate, assigned: list[AxisList], mesh: Mesh) -> bool:
    """Return whether the candidate remains after `winner`; update its axes and its gain."""
    if candidate.factor == winner.factor:
        if not is_strict_list_prefix(winner.axes, candidate.axes):
            return False
        candidate.gain = expansion(candidate.axes, winner.axes, mesh)
        return True
    left = truncate_overlaps(candidate.axes, winner.axes)
    if left == candidate.axes:
        # The full size, regardless of the axes assigned to its factor: Shardy decides ties this way.
        candidate.gain = sharded_size(left, mesh)
        return True
    if left == assigned[candidate.factor]:
        return False
    candidate.axes = left
    candidate.gain = expansion(left, assigned[candidate.factor], mesh)
    return True
