"""Cutting axis refs so that those of two shardings are equal or disjoint. Source: docs/spec/05, 0.2."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from sdy.model.axis import AxisList, AxisRef, can_coexist, contains, intersection, order_key, overlaps, prefix_without
from sdy.model.axis_on_mesh import suffix_without
from sdy.model.mesh import Mesh


def aligned(axes: Iterable[AxisRef], boundaries: Sequence[AxisRef], mesh: Mesh) -> list[AxisRef]:
    """`axes` cut where one of `boundaries` begins or ends inside a ref. The pieces are not merged.

    `boundaries` are sorted by `order_key` and pairwise disjoint.
    """
    pieces: list[AxisRef] = []
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
            pieces += (piece for piece in (prefix_without(rest, boundary), intersection(rest, boundary)) if piece)
            rest = suffix_without(rest, boundary, mesh)
        if rest is not None:
            pieces.append(rest)
    return pieces


def _first_overlapping(ref: AxisRef, ordered: Sequence[AxisRef]) -> int:
    """The place of the first of `ordered` that overlaps `ref`; past the end where none does."""
    place = bisect_left(ordered, order_key(ref), key=order_key)
    for candidate in (place - 1, place):
        if 0 <= candidate < len(ordered) and overlaps(ordered[candidate], ref):
            return candidate
    return len(ordered)


def without_suffix(axes: AxisList, suffix: Iterable[AxisRef]) -> AxisList:
    """`axes` with `suffix`, which may end within a ref, peeled off the minor end."""
    left = list(axes)
    for ref in reversed(list(suffix)):
        rest = prefix_without(left.pop(), ref)
        if rest is not None:
            left.append(rest)
    return tuple(left)
