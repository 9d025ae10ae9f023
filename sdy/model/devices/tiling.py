"""Assignment of shards to devices, and transfers between two assignments or when shards shift or are reversed.

Source: docs/spec/06, 0.2, 1.10, 3.6 and 3.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod

from sdy.model.axis import AxisList, AxisRef, can_all_coexist, contains
from sdy.model.axis_on_mesh import ordered_refs
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import Digit, digit_of, digits_at
from sdy.model.sharding import TensorSharding


@lru_cache(maxsize=4096)
def shard_coordinates(axes: AxisList, mesh: Mesh) -> tuple[int, ...]:
    """Return, by device number, the index of the shard that the device holds of a dim sharded along `axes`, major
    first.

    >>> from sdy.model.axis import SubAxis
    >>> from sdy.model.mesh import MeshAxis
    >>> mesh = Mesh((MeshAxis("p", 2), MeshAxis("q", 4)))
    >>> shard_coordinates((AxisRef("q", SubAxis(1, 2)),), mesh)
    (0, 0, 1, 1, 0, 0, 1, 1)
    """
    digits = [digit_of(ref, mesh) for ref in axes]
    devices = mesh.listed_devices()
    of_device = [0] * len(devices)
    for position, device in enumerate(devices):
        of_device[device] = digits_at(position, digits)
    return tuple(of_device)


def source_target_pairs(
    source: TensorSharding, source_mesh: Mesh, target: TensorSharding, target_mesh: Mesh
) -> tuple[tuple[int, int], ...]:
    """Return the (source, target) device pairs, by source, that turn the shards of `source` into those of `target`.

    The meshes have the same axes, and each dim keeps its number of shards. Devices keep their coordinates along the
    axes that shard no dim, since those may hold partial values or different tensors. A device that already holds its
    target shard sends nothing.
    """
    before, after, apart = _in_common_digits(source, target, target_mesh)
    senders = shard_coordinates((*before, *apart), source_mesh)
    receivers = shard_coordinates((*after, *apart), target_mesh)
    holders: dict[int, list[int]] = {}
    for device, coordinate in enumerate(senders):
        if receivers[device] != coordinate:
            holders.setdefault(coordinate, []).append(device)
    pairs = [
        (device if senders[device] == coordinate else holders[coordinate].pop(0), device)
        for device, coordinate in enumerate(receivers)
    ]
    return tuple(sorted(pairs))


def _in_common_digits(
    source: TensorSharding, target: TensorSharding, mesh: Mesh
) -> tuple[AxisList, AxisList, AxisList]:
    """Return the axes that shard the dims of `source`, those of `target`, and those of neither, split into common
    digits.

    If the refs to some axis cannot coexist, all refs are taken as they are, and the third list has the unused full
    axes.
    """
    refs = (*source.axis_refs(), *target.axis_refs())
    if can_all_coexist(refs):
        digits = ordered_refs(refs, mesh)
        before, after = _digits_in_use(source, digits), _digits_in_use(target, digits)
        return before, after, tuple(digit for digit in digits if digit not in before and digit not in after)
    sharded = [tuple(ref for dim in each.dims for ref in dim.axes) for each in (source, target)]
    used = {ref.name for axes in sharded for ref in axes}
    return sharded[0], sharded[1], tuple(AxisRef(axis.name) for axis in mesh.axes if axis.name not in used)


def _digits_in_use(sharding: TensorSharding, digits: Iterable[AxisRef]) -> AxisList:
    """Return the digits that the dims are sharded along, in order."""
    return tuple(digit for dim in sharding.dims for ref in dim.axes for digit in digits if contains(ref, digit))


def shift_pairs(axes: AxisList, mesh: Mesh, hops: int) -> tuple[tuple[int, int], ...]:
    """Return (source, target) device pairs that shift every shard of a dim sharded along `axes` by `hops` shards.

    Shards that would leave the dim are dropped; a negative number of hops shifts towards the start.

    >>> from sdy.model.axis import AxisRef
    >>> from sdy.model.mesh import MeshAxis
    >>> shift_pairs((AxisRef("a"),), Mesh((MeshAxis("a", 2), MeshAxis("b", 2))), 1)
    ((0, 2), (1, 3))
    """
    digits = [digit_of(ref, mesh) for ref in axes]
    count = prod(digit.size for digit in digits)
    devices = mesh.listed_devices()
    pairs: list[tuple[int, int]] = []
    for position, device in enumerate(devices):
        shard = digits_at(position, digits)
        if 0 <= shard + hops < count:
            moved = position - _position_of(shard, digits) + _position_of(shard + hops, digits)
            pairs.append((device, devices[moved]))
    return tuple(pairs)


def mesh_reversed_along(axes: AxisList, mesh: Mesh) -> Mesh:
    """Return the mesh with the order of devices along `axes` reversed.

    >>> from sdy.model.axis import AxisRef
    >>> from sdy.model.mesh import MeshAxis
    >>> mesh_reversed_along((AxisRef("a"),), Mesh((MeshAxis("a", 2), MeshAxis("b", 2)))).device_ids
    (2, 3, 0, 1)
    """
    digits = [digit_of(ref, mesh) for ref in axes]
    devices = mesh.listed_devices()
    opposite = [
        position + sum(digit.stride * (digit.size - 1 - 2 * digit.of(position)) for digit in digits)
        for position in range(len(devices))
    ]
    return Mesh(mesh.axes, tuple(devices[position] for position in opposite))


def _position_of(shard: int, digits: Sequence[Digit]) -> int:
    """Return what the number of a shard adds to the position of the devices that hold it."""
    position = 0
    for digit in reversed(digits):
        position += shard % digit.size * digit.stride
        shard //= digit.size
    return position
