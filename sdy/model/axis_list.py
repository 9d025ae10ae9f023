"""Operations on lists of axis refs, major first: prefixes, differences, merging.

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
    """Return the number of shards that the refs split a dim into."""
    return prod(mesh.size_of(ref) for ref in axes)


def expansion(axes: AxisList, prefix: AxisList, mesh: Mesh) -> int:
    """Return how many times more shards `axes` makes than its prefix `prefix`."""
    return sharded_size(axes, mesh) // sharded_size(prefix, mesh)


def add_or_merge(axes: AxisList, ref: AxisRef, mesh: Mesh) -> AxisList:
    """Return `axes` with `ref` appended at the minor end, merged into the last ref if the two are adjacent."""
    if axes and can_merge(axes[-1], ref):
        return (*axes[:-1], merge_refs(axes[-1], ref, mesh))
    return (*axes, ref)


def extended(axes: AxisList, more: Iterable[AxisRef], mesh: Mesh) -> AxisList:
    """Return `axes` with each ref of `more` appended in order, merging adjacent refs."""
    for ref in more:
        axes = add_or_merge(axes, ref, mesh)
    return axes


def sort_and_merge(refs: Iterable[AxisRef], mesh: Mesh) -> AxisList:
    """Return the canonical form of a set of pairwise disjoint refs: in mesh order, with adjacent refs merged."""
    return extended((), in_mesh_order(refs, mesh), mesh)


def lists_overlap(a: Iterable[AxisRef], b: Sequence[AxisRef]) -> bool:
    """Return whether some ref of `a` overlaps some ref of `b`."""
    return any(overlaps(left, right) for left in a for right in b)


def prefix_without_any(ref: AxisRef, others: Iterable[AxisRef]) -> AxisRef | None:
    """Return the longest prefix of `ref` that overlaps none of `others`; None if that is empty."""
    rest: AxisRef | None = ref
    for other in others:
        rest = prefix_without(rest, other)
        if rest is None:
            return None
    return rest


def truncate_overlaps(axes: AxisList, others: Sequence[AxisRef]) -> AxisList:
    """Return the longest prefix of `axes` that overlaps none of `others`."""
    for index, ref in enumerate(axes):
        rest = prefix_without_any(ref, others)
        if rest != ref:
            return axes[:index] if rest is None else (*axes[:index], rest)
    return axes


def common_prefix(a: AxisList, b: AxisList) -> AxisList:
    """Return the longest list that is a prefix of both."""
    for index, (left, right) in enumerate(zip(a, b, strict=False)):
        if left != right:
            last = greatest_common_prefix(left, right)
            return a[:index] if last is None else (*a[:index], last)
    return min(a, b, key=len)


def first_overlapping(ref: AxisRef, ordered: Sequence[AxisRef]) -> AxisRef | None:
    """Return the first ref of `ordered` that overlaps `ref`, if any.

    `ordered` is pairwise disjoint and sorted by `order_key`.
    """
    index = bisect_left(ordered, order_key(ref), key=order_key)
    return next((other for other in ordered[max(index - 1, 0) : index + 1] if overlaps(other, ref)), None)


def set_difference(axes: AxisList, minus: AxisList, mesh: Mesh) -> AxisList:
    """Return the parts of `axes` that no ref of `minus` covers, in the order of `axes`. Refs of `minus` are disjoint.

    If a ref overlaps one of `minus` but cannot coexist with it, the rest of that ref is dropped.

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
    """Return a sort key: by length, then by the refs in order."""
    return len(axes), tuple(order_key(ref) for ref in axes)


def is_strict_list_prefix(a: AxisList, b: AxisList) -> bool:
    """Return whether `a` is a strict prefix of `b`: it has fewer refs, or its last ref is a prefix of that of `b`."""
    if not a:
        return bool(b)
    if len(a) > len(b) or a[:-1] != b[: len(a) - 1]:
        return False
    return is_strict_prefix(a[-1], b[len(a) - 1]) if len(a) == len(b) else is_prefix(a[-1], b[len(a) - 1])
