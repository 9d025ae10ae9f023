"""What a mesh adds to axis refs: where a full axis ends, how refs merge to one, in which order they stand.

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
    """The pre-size of whatever comes next to `ref`, minor to it; the axis size where nothing does."""
    return mesh.axis_size(ref.name) if ref.sub_axis is None else ref.sub_axis.end


def is_suffix(a: AxisRef, b: AxisRef, mesh: Mesh) -> bool:
    """Whether `a` is the minor part of `b`, or `b` itself."""
    return contains(b, a) and axis_end(a, mesh) == axis_end(b, mesh)


def is_strict_suffix(a: AxisRef, b: AxisRef, mesh: Mesh) -> bool:
    """Whether `a` is the minor part of `b`, and not `b` itself."""
    return a != b and is_suffix(a, b, mesh)


def suffix_without(a: AxisRef, b: AxisRef, mesh: Mesh) -> AxisRef | None:
    """The largest minor part of `a` that lies after `b`; None where nothing is left or they do not coexist."""
    if not can_coexist(a, b):
        return None
    if not overlaps(a, b):
        return a
    start, end = axis_end(b, mesh), axis_end(a, mesh)
    return sub_axis_ref(a.name, start, end) if end > start else None


def merge_refs(a: AxisRef, b: AxisRef, mesh: Mesh) -> AxisRef:
    """The one ref that `a, b` stands for, where `a` `can_merge` with `b`; a full axis where it covers all of it."""
    assert can_merge(a, b)
    size = mesh.size_of(a) * mesh.size_of(b)
    return AxisRef(a.name, None if size == mesh.axis_size(a.name) else SubAxis(a.pre_size, size))


def split_at(ref: AxisRef, size: int, mesh: Mesh) -> tuple[AxisRef, AxisRef]:
    """The major part of `ref` with `size` devices, and the rest."""
    cut = ref.pre_size * size
    return sub_axis_ref(ref.name, ref.pre_size, cut), sub_axis_ref(ref.name, cut, ref.pre_size * mesh.size_of(ref))


def mesh_order_key(ref: AxisRef, mesh: Mesh) -> tuple[int, int, int]:
    """Sorts refs by the place of their axis in the mesh, then from major to minor. Unknown axes come last."""
    place = axis_positions(mesh).get(ref.name, sys.maxsize)
    sub = ref.sub_axis
    return (place, 1, sys.maxsize) if sub is None else (place, sub.pre_size, sub.size)


def in_mesh_order(refs: Iterable[AxisRef], mesh: Mesh) -> AxisList:
    """The refs sorted in mesh order."""
    return tuple(sorted(refs, key=lambda ref: mesh_order_key(ref, mesh)))


def ordered_refs(refs: Iterable[AxisRef], mesh: Mesh) -> AxisList:
    """The coarsest refinement of the mesh that exposes every ref: digits in mesh order, sizes of all devices.

    Of a sharding, pass the refs of its dims and the unreduced ones. On `<["a"=2, "u"=24]>`:

    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("a", 2), MeshAxis("u", 24)))
    >>> [str(ref) for ref in ordered_refs((AxisRef("u", SubAxis(2, 3)),), mesh)]
    ['"a"', '"u":(1)2', '"u":(2)3', '"u":(6)4']
    """
    cuts: dict[str, set[int]] = {}
    for ref in refs:
        if ref.sub_axis is not None:
            cuts.setdefault(ref.name, {1, mesh.axis_size(ref.name)}).update((ref.sub_axis.pre_size, ref.sub_axis.end))
    refined: list[AxisRef] = []
    for axis in mesh.axes:
        if axis.name not in cuts:
            refined.append(AxisRef(axis.name))
            continue
        points = sorted(cuts[axis.name])
        refined += (sub_axis_ref(axis.name, start, end) for start, end in pairwise(points))
    return tuple(refined)


def replica_groups(axes: AxisList, mesh: Mesh) -> tuple[tuple[int, ...], ...]:
    """The groups of devices that differ only along `axes`, one tuple a group.

    Groups follow the other axes in mesh order; within a group the first axis of the list varies slowest.

    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("a", 2), MeshAxis("b", 3)))
    >>> replica_groups((AxisRef("a"),), mesh)
    ((0, 3), (1, 4), (2, 5))
    >>> replica_groups((AxisRef("b"), AxisRef("a")), mesh)
    ((0, 3, 1, 4, 2, 5),)
    """
    digits = ordered_refs(axes, mesh)
    sizes = [mesh.size_of(digit) for digit in digits]
    weight_of = {digit: prod(sizes[place + 1 :]) for place, digit in enumerate(digits)}
    devices = mesh.devices()
    others = [digit for digit in digits if digit not in axes]
    offsets_within = _offsets(axes, weight_of, mesh)
    return tuple(
        tuple(devices[start + offset] for offset in offsets_within) for start in _offsets(others, weight_of, mesh)
    )


def _offsets(digits: Sequence[AxisRef], weight_of: dict[AxisRef, int], mesh: Mesh) -> list[int]:
    """Where every value of `digits` stands in the row-major order of the refined mesh, the first digit slowest."""
    offsets = [0]
    for digit in digits:
        steps = range(0, weight_of[digit] * mesh.size_of(digit), weight_of[digit])
        offsets = [offset + step for offset in offsets for step in steps]
    return offsets
