"""Split axis refs so that the refs of two shardings are equal or disjoint. Source: docs/spec/05, 0.2."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from sdy.model.axis import AxisList, AxisRef, can_coexist, contains, intersection, order_key, overlaps, prefix_without
from sdy.model.axis_on_mesh import suffix_without
from sdy.model.mesh import Mesh


def split_at_boundaries(axes: Iterable[AxisRef], boundaries: Sequence[AxisRef], mesh: Mesh) -> list[AxisRef]:
    """Split each ref of `axes` where one of `boundaries` begins or ends inside it; the sub-axes are not merged.

    `boundaries` are sorted by `order_key` and pairwise disjoint.
    """
    split: list[AxisRef] = []
    for ref in axes:
        rest: AxisRef | None = ref
        for boundary in boundaries[_first_overlapping(ref, boundaries) :]:
            if (
                rest is None
                or not can_coexist(rest, boundary)
                or not overlaps(rest, boundary)
                or contains(boundary, rest)
            ):
                break
            split += (each for each in (prefix_without(rest, boundary), intersection(rest, boundary)) if each)
            rest = suffix_without(rest, boundary, mesh)
        if rest is not None:
            split.append(rest)
    return split


def _first_overlapping(ref: AxisRef, ordered: Sequence[AxisRef]) -> int:
    """Return the index of the first of `ordered` that overlaps `ref`, or the length of `ordered` if none does."""
    index = bisect_left(ordered, order_key(ref), key=order_key)
    for candidate in (index - 1, index):
        if 0 <= candidate < len(ordered) and overlaps(ordered[candidate], ref):
            return candidate
    return len(ordered)


def without_suffix(axes: AxisList, suffix: Iterable[AxisRef]) -> AxisList:
    """Return `axes` without `suffix` at its minor end; the suffix may begin within a ref."""
    left = list(axes)
    for ref in reversed(list(suffix)):
        rest = prefix_without(left.pop(), ref)
        if rest is not None:
            left.append(rest)
    return tuple(left)
