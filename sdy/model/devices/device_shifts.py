"""Transfers between devices when the shards of a dim shift along it or are reversed.

Source: docs/spec/06, 3.6 and 3.7.
"""

from __future__ import annotations

from math import prod

from sdy.model.axis import AxisList
from sdy.model.mesh import Mesh
from sdy.model.mesh_digits import Digit, digit_of

Digits = list[Digit]  # one digit per axis ref, major first


def shift_pairs(axes: AxisList, mesh: Mesh, hops: int) -> tuple[tuple[int, int], ...]:
    """Return (source, target) device pairs that shift every shard of a dim sharded along `axes` by `hops` shards.

    Shards that would leave the dim are dropped; a negative number of hops shifts towards the start.

    >>> from sdy.model.axis import AxisRef
    >>> from sdy.model.mesh import MeshAxis
    >>> shift_pairs((AxisRef("a"),), Mesh((MeshAxis("a", 2), MeshAxis("b", 2))), 1)
    ((0, 2), (1, 3))
    """
    digits = _digits(axes, mesh)
    count = prod(digit.size for digit in digits)
    devices = mesh.listed_devices()
    pairs: list[tuple[int, int]] = []
    for position, device in enumerate(devices):
        shard = _shard_at(position, digits)
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
    digits = _digits(axes, mesh)
    devices = mesh.listed_devices()
    opposite = [
        position + sum(digit.stride * (digit.size - 1 - 2 * digit.of(position)) for digit in digits)
        for position in range(len(devices))
    ]
    return Mesh(mesh.axes, tuple(devices[position] for position in opposite))


def _digits(axes: AxisList, mesh: Mesh) -> Digits:
    return [digit_of(ref, mesh) for ref in axes]


def _shard_at(position: int, digits: Digits) -> int:
    shard = 0
    for digit in digits:
        shard = shard * digit.size + digit.of(position)
    return shard


def _position_of(shard: int, digits: Digits) -> int:
    """Return what the number of a shard adds to the position of the devices that hold it."""
    position = 0
    for digit in reversed(digits):
        position += shard % digit.size * digit.stride
        shard //= digit.size
    return position
