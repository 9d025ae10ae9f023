"""Lists of axis refs, major first: what they share, how they differ, how they join.

Source: docs/spec/01, 2.5.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import prod

from sdy.model.axis import (
    AxisList,
    AxisRef,
    can_merge,
    greatest_common_prefix,
    is_prefix,
    is_strict_prefix,
    order_key,
    overlaps,
    prefix_without,
)
from sdy.model.axis_on_mesh import in_mesh_order, merge_refs, suffix_without
from sdy.model.mesh import Mesh


def sharded_size(axes: Iterable[AxisRef], mesh: Mesh) -> int:
    """Into how many pieces the refs cut a dim."""
    return prod(mesh.size_of(ref) for ref in axes)


def expansion(axes: AxisList, prefix: AxisList, mesh: Mesh) -> int:
    """How many times more pieces `axes` makes than its prefix `prefix`."""
    return sharded_size(axes, mesh) // sharded_size(prefix, mesh)


def add_or_merge(axes: AxisList, ref: AxisRef, mesh: Mesh) -> AxisList:
    """`axes` with `ref` added at the minor end, as part of the last ref where the two are adjacent."""
    if axes and can_merge(axes[-1], ref):
        return (*axes[:-1], merge_refs(axes[-1], ref, mesh))
    return (*axes, ref)


def extended(axes: AxisList, more: Iterable[AxisRef], mesh: Mesh) -> AxisList:
    """`axes` with each ref of `more` added in order, merging adjacent ones."""
    for ref in more:
        axes = add_or_merge(axes, ref, mesh)
    return axes


def sort_and_merge(refs: Iterable[AxisRef], mesh: Mesh) -> AxisList:
    """The canonical form of a set of pairwise disjoint refs: in mesh order, adjacent ones merged."""
    return extended((), in_mesh_order(refs, mesh), mesh)


def lists_overlap(a: Iterable[AxisRef], b: Sequence[AxisRef]) -> bool:
    """Whether some ref of `a` overlaps some ref of `b`."""
    return any(overlaps(left, right) for left in a for right in b)


def prefix_without_any(ref: AxisRef, others: Iterable[AxisRef]) -> AxisRef | None:
    """The largest major part of `ref` that touches none of `others`, if anything is left."""
    rest: AxisRef | None = ref
    for other in others:
        rest = prefix_without(rest, other)
        if rest is None:
            return None
    return rest


def truncate_overlaps(axes: AxisList, others: Sequence[AxisRef]) -> AxisList:
    """`axes` up to where it first touches one of `others`: `axes` itself where it touches none."""
    for place, ref in enumerate(axes):
        rest = prefix_without_any(ref, others)
        if rest != ref:
            return axes[:place] if rest is None else (*axes[:place], rest)
    return axes


def common_prefix(a: AxisList, b: AxisList) -> AxisList:
    """The longest list that is major part of both."""
    for place, (left, right) in enumerate(zip(a, b, strict=False)):
        if left != right:
            last = greatest_common_prefix(left, right)
            return a[:place] if last is None else (*a[:place], last)
    return min(a, b, key=len)


def first_overlapping(ref: AxisRef, ordered: Sequence[AxisRef]) -> AxisRef | None:
    """The first of `ordered`, which are pairwise disjoint and sorted by `order_key`, that overlaps `ref`."""
    place = bisect_left(ordered, order_key(ref), key=order_key)
    return next((other for other in ordered[max(place - 1, 0) : place + 1] if overlaps(other, ref)), None)


def set_difference(axes: AxisList, minus: AxisList, mesh: Mesh) -> AxisList:
    """What of `axes` no ref of `minus` covers, in the order of `axes`. The refs of `minus` are pairwise disjoint.

    A pair that overlaps without coexisting contributes nothing further.

    >>> from sdy.model.axis import SubAxis
    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("u", 24),))
    >>> [str(ref) for ref in set_difference((AxisRef("u"),), (AxisRef("u", SubAxis(2, 3)),), mesh)]
    ['"u":(1)2', '"u":(6)4']
    """
    if not minus:
        return axes
    if axes == minus:
        return ()
    ordered = sorted(minus, key=order_key)
    left: list[AxisRef] = []
    for ref in axes:
        rest: AxisRef | None = ref
        while rest is not None and (other := first_overlapping(rest, ordered)) is not None:
            before = prefix_without(rest, other)
            if before is not None:
                left.append(before)
            rest = suffix_without(rest, other, mesh)
        if rest is not None:
            left.append(rest)
    return tuple(left)


def list_order_key(axes: AxisList) -> tuple[int, tuple[tuple[str, int, int], ...]]:
    """Sorts lists by length, then by their refs in order."""
    return len(axes), tuple(order_key(ref) for ref in axes)


def is_strict_list_prefix(a: AxisList, b: AxisList) -> bool:
    """Whether `a` is the major part of `b` and shorter than it, by whole refs or by the size of its last one."""
    if not a:
        return bool(b)
    if len(a) > len(b) or a[:-1] != b[: len(a) - 1]:
        return False
    return is_strict_prefix(a[-1], b[len(a) - 1]) if len(a) == len(b) else is_prefix(a[-1], b[len(a) - 1])
