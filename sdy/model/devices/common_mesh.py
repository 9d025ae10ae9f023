"""The axes of several meshes of the same devices, expressed as axes and sub-axes of one of them.

    main <["x"=4, "y"=2]>      other <["a"=2, "b"=4]>

    "a" is "x":(1)2      "b" is "x":(2)2, "y"

Read as a mixed-radix number, the position of a device in a mesh has digits of prime size, each of which is a sub-axis.
A mesh lists the same devices as the main mesh, so that its digits can be paired with digits of the main mesh of equal
size. If devices differ in the two digits of a pair alike, the pair stands for one sub-axis. If not for all pairs, the
mesh is expressed by a mesh with the axes of the main mesh and another order of devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from sdy.model.axis import AxisList, AxisRef, contains, sub_axis_ref
from sdy.model.axis_list import extended
from sdy.model.axis_on_mesh import axis_end, ordered_refs
from sdy.model.mesh import Mesh, MeshAxis, check_listed
from sdy.model.mesh_digits import prime_factors


class Interval(NamedTuple):
    """A digit of device positions: the multiplicative interval `[start, end)` of all axes read as one, major first."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """The number of values of the digit."""
        return self.end // self.start


@dataclass(frozen=True, slots=True)
class AxisTranslation:
    """The axes of `source` on `target`, which has the same devices at the same values of paired digits."""

    source: Mesh
    target: Mesh
    pairs: tuple[tuple[Interval, Interval], ...]  # digits of the source, major first, with their digits of the target

    def refs(self, ref: AxisRef) -> AxisList:
        """Return the refs to `target` that shard a dim like `ref`, which ends between digits of the source."""
        whole = interval_of(ref, self.source)
        inside = (to for digit, to in self.pairs if whole.start <= digit.start and digit.end <= whole.end)
        return extended((), (_ref_at(digit, self.target) for digit in inside), self.target)


def interval_of(ref: AxisRef, mesh: Mesh) -> Interval:
    """Return the interval of device positions that `ref` stands for."""
    major = 1
    for axis in mesh.axes:
        if axis.name == ref.name:
            break
        major *= axis.size
    return Interval(major * ref.pre_size, major * axis_end(ref, mesh))


def common_digits(meshes: Sequence[tuple[Mesh, Iterable[AxisRef]]]) -> tuple[Interval, ...]:
    """Return prime digits of the first mesh, which split as many axes of the other meshes as possible between digits.

    Each mesh comes with the refs that its shardings use; those of the first mesh always end between digits.
    """
    points = {1, meshes[0][0].device_count}
    for mesh, refs in meshes:
        for axis in (*(AxisRef(axis.name) for axis in mesh.axes), *refs):
            points = _with_points(points, interval_of(axis, mesh))
    return _prime_digits(points)


def translation(source: Mesh, refs: Iterable[AxisRef], target: Mesh, digits: Sequence[Interval]) -> AxisTranslation:
    """Return how axes of `source`, and the given refs to them, are expressed on a mesh with the axes of `target`.

    `digits` are those of the target. The mesh of the result is `target` itself if the digits of the source are digits
    of the target; otherwise it lists the devices in another order.
    Raises: SdyError SDY-L019, without a location, if there are too many devices to list.
    """
    points = {1, source.device_count}
    for axis in (*(AxisRef(axis.name) for axis in source.axes), *refs):
        points = _with_points(points, interval_of(axis, source))
    for digit in digits:
        points = _with_points(points, digit)
    own = _prime_digits(points)
    pairs = tuple(zip(own, _paired(own, source, digits, target), strict=True))
    is_same = source.devices() == target.devices() and all(digit == other for digit, other in pairs)
    return AxisTranslation(source, target if is_same else _reordered(source, target, pairs), pairs)


def _with_points(points: set[int], interval: Interval) -> set[int]:
    """Return the points together with both ends of the interval, unless one neither divides nor is divided by another.

    >>> sorted(_with_points({1, 2, 12}, Interval(4, 12))), sorted(_with_points({1, 2, 12}, Interval(3, 12)))
    ([1, 2, 4, 12], [1, 2, 12])
    """
    added = {point for point in interval if all(point % other == 0 or other % point == 0 for other in points)}
    return points | added


def _prime_digits(points: Iterable[int]) -> tuple[Interval, ...]:
    """Return the digits of prime size between neighbouring points, each of which divides the next."""
    digits: list[Interval] = []
    for start, end in pairwise(sorted(points)):
        for size in prime_factors(end // start):
            digits.append(Interval(start, start * size))
            start *= size
    return tuple(digits)


def _paired(own: Sequence[Interval], source: Mesh, digits: Sequence[Interval], target: Mesh) -> list[Interval]:
    """Return for each digit of `source` one of equal size of `target`: the same distance between devices, if possible.

    The other digits are paired in order.
    """
    if source.devices() == target.devices():
        alike = {digit: digit for digit in own if digit in digits}
    else:
        by_distance = {(each.size, _distance(target, each)): each for each in digits}
        alike = {digit: found for digit in own if (found := by_distance.get((digit.size, _distance(source, digit))))}
    taken = set(alike.values())
    rest = [digit for digit in digits if digit not in taken]
    paired: list[Interval] = []
    for digit in own:
        found = alike.get(digit) or next(each for each in rest if each.size == digit.size)
        if found in rest:
            rest.remove(found)
        paired.append(found)
    return paired


def _distance(mesh: Mesh, digit: Interval) -> int:
    """Return the difference between the ids of the second device along a digit and the first device of the mesh."""
    devices = mesh.devices()
    return devices[mesh.device_count // digit.end] - devices[0]


def _reordered(source: Mesh, target: Mesh, pairs: Sequence[tuple[Interval, Interval]]) -> Mesh:
    """Return a mesh with the axes of `target` in which devices have the values of paired digits that they have in
    `source`.
    """
    check_listed(source.device_count)
    positions = [0]
    for own, _ in sorted(pairs, key=lambda pair: pair[1]):  # in the order of the digits of the target
        stride = source.device_count // own.end
        positions = [position + stride * value for position in positions for value in range(own.size)]
    devices = source.devices()
    return Mesh(target.axes, tuple(devices[position] for position in positions))


def _ref_at(digit: Interval, mesh: Mesh) -> AxisRef:
    """Return the ref to the axis of `mesh` that a digit lies in."""
    whole = ((axis, interval_of(AxisRef(axis.name), mesh)) for axis in mesh.axes)
    axis, around = next((axis, around) for axis, around in whole if digit.end <= around.end)
    if digit.size == axis.size:
        return AxisRef(axis.name)
    return sub_axis_ref(axis.name, digit.start // around.start, digit.end // around.start)


def split_mesh(mesh: Mesh, refs: Iterable[AxisRef]) -> tuple[Mesh, AxisList]:
    """Return the mesh with axes split as finely as `refs` need, and the ref to `mesh` that each new axis stands for.

    The order of devices stays. An axis that is not split keeps its name; a sub-axis is named as it is written.

    >>> from sdy.model.axis import SubAxis
    >>> mesh, digits = split_mesh(Mesh((MeshAxis("x", 8),)), [AxisRef("x", SubAxis(2, 2))])
    >>> [(axis.name, axis.size) for axis in mesh.axes]
    [('x:(1)2', 2), ('x:(2)2', 2), ('x:(4)2', 2)]
    """
    digits = ordered_refs(refs, mesh)
    axes = tuple(MeshAxis(_name(digit), mesh.size_of(digit)) for digit in digits)
    return Mesh(axes, mesh.device_ids), digits


def names_on_split_mesh(ref: AxisRef, digits: AxisList) -> tuple[str, ...]:
    """Return the axes of a split mesh that `ref` stands for, major first."""
    return tuple(_name(digit) for digit in digits if contains(ref, digit))


def _name(digit: AxisRef) -> str:
    return digit.name if digit.sub_axis is None else f"{digit.name}:{digit.sub_axis}"
