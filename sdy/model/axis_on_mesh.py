"""Operations on axis refs that need the mesh: the end of a full axis, merging, mesh order, replica groups.

Source: docs/spec/01, 2.2 to 2.4 and 2.6.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod

from sdy.model.axis import AxisList, AxisRef, SubAxis, can_coexist, can_merge, contains, overlaps, sub_axis_ref
from sdy.model.mesh import Mesh, axis_positions


def axis_end(ref: AxisRef, mesh: Mesh) -> int:
    """Return the pre-size of the next sub-axis minor to `ref`; the axis size if `ref` reaches the end of its axis."""
    return mesh.axis_size(ref.name) if ref.sub_axis is None else ref.sub_axis.end


def is_suffix(a: AxisRef, b: AxisRef, mesh: Mesh) -> bool:
    """Return whether `a` is a minor suffix of `b`, or `b` itself."""
    return contains(b, a) and axis_end(a, mesh) == axis_end(b, mesh)


def suffix_without(a: AxisRef, b: AxisRef, mesh: Mesh) -> AxisRef | None:
    """Return the longest suffix of `a` after `b`; None if that is empty or the refs cannot coexist."""
    if not can_coexist(a, b):
        return None
    if not overlaps(a, b):
        return a
    start, end = axis_end(b, mesh), axis_end(a, mesh)
    return sub_axis_ref(a.name, start, end) if end > start else None


def merge_refs(a: AxisRef, b: AxisRef, mesh: Mesh) -> AxisRef:
    """Return the one ref equal to `a, b`, which must satisfy `can_merge`; a full axis ref if it covers the axis."""
    assert can_merge(a, b)
    size = mesh.size_of(a) * mesh.size_of(b)
    return AxisRef(a.name, None if size == mesh.axis_size(a.name) else SubAxis(a.pre_size, size))


def split_at(ref: AxisRef, size: int, mesh: Mesh) -> tuple[AxisRef, AxisRef]:
    """Split `ref` into its major part of `size` devices and the rest."""
    boundary = ref.pre_size * size
    return sub_axis_ref(ref.name, ref.pre_size, boundary), sub_axis_ref(
        ref.name, boundary, ref.pre_size * mesh.size_of(ref)
    )


def mesh_order_key(ref: AxisRef, mesh: Mesh) -> tuple[int, int, int]:
    """Return a sort key: by position of the axis in the mesh, then from major to minor. Unknown axes come last."""
    position = axis_positions(mesh).get(ref.name, sys.maxsize)
    sub = ref.sub_axis
    return (position, 1, sys.maxsize) if sub is None else (position, sub.pre_size, sub.size)


def in_mesh_order(refs: Iterable[AxisRef], mesh: Mesh) -> AxisList:
    """Return the refs sorted in mesh order."""
    return tuple(sorted(refs, key=lambda ref: mesh_order_key(ref, mesh)))


def ordered_refs(refs: Iterable[AxisRef], mesh: Mesh) -> AxisList:
    """Return the coarsest refinement of the mesh that exposes every ref: digits in mesh order that cover all devices.

    To refine by a sharding, pass the refs of its dims and its unreduced refs. On `<["a"=2, "u"=24]>`:

    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("a", 2), MeshAxis("u", 24)))
    >>> [str(ref) for ref in ordered_refs((AxisRef("u", SubAxis(2, 3)),), mesh)]
    ['"a"', '"u":(1)2', '"u":(2)3', '"u":(6)4']
    """
    boundaries: dict[str, set[int]] = {}
    for ref in refs:
        if ref.sub_axis is not None:
            boundaries.setdefault(ref.name, {1, mesh.axis_size(ref.name)}).update(
                (ref.sub_axis.pre_size, ref.sub_axis.end)
            )
    refined: list[AxisRef] = []
    for axis in mesh.axes:
        if axis.name not in boundaries:
            refined.append(AxisRef(axis.name))
            continue
        points = sorted(boundaries[axis.name])
        refined += (sub_axis_ref(axis.name, start, end) for start, end in pairwise(points))
    return tuple(refined)


def replica_groups(axes: AxisList, mesh: Mesh) -> tuple[tuple[int, ...], ...]:
    """Return the groups of devices that differ only along `axes`, one tuple per group.

    Groups are ordered by the other axes in mesh order; within a group the first axis of the list varies slowest.

    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("a", 2), MeshAxis("b", 3)))
    >>> replica_groups((AxisRef("a"),), mesh)
    ((0, 3), (1, 4), (2, 5))
    >>> replica_groups((AxisRef("b"), AxisRef("a")), mesh)
    ((0, 3, 1, 4, 2, 5),)
    """
    digits = ordered_refs(axes, mesh)
    sizes = [mesh.size_of(digit) for digit in digits]
    weight_of = {digit: prod(sizes[position + 1 :]) for position, digit in enumerate(digits)}
    devices = mesh.listed_devices()
    others = [digit for digit in digits if digit not in axes]
    offsets_within = _offsets(axes, weight_of, mesh)
    return tuple(
        tuple(devices[start + offset] for offset in offsets_within) for start in _offsets(others, weight_of, mesh)
    )


def _offsets(digits: Sequence[AxisRef], weight_of: dict[AxisRef, int], mesh: Mesh) -> list[int]:
    """Return the row-major offset, in the refined mesh, of every combination of `digits`; the first digit varies
    slowest.
    """
    offsets = [0]
    for digit in digits:
        steps = range(0, weight_of[digit] * mesh.size_of(digit), weight_of[digit])
        offsets = [offset + step for offset in offsets for step in steps]
    return offsets
