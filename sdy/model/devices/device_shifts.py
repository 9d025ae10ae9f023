"""Which device a shard goes to when all shards move along a dim, or when their order is reversed.

Source: docs/spec/06, 3.6 and 3.7.
"""

from __future__ import annotations

from math import prod

from sdy.model.axis import AxisList
from sdy.model.devices.tiling import device_stride
from sdy.model.mesh import Mesh

Weights = list[tuple[int, int]]  # per axis, major first: how many positions apart neighbours are, and their number


def shift_pairs(axes: AxisList, mesh: Mesh, hops: int) -> tuple[tuple[int, int], ...]:
    """Who sends to whom, by device number, when every shard of a dim cut by `axes` moves on by `hops` shards.

    Shards that would leave the dim go nowhere; a negative number of hops moves to the left.

    >>> from sdy.model.axis import AxisRef
    >>> from sdy.model.mesh import MeshAxis
    >>> shift_pairs((AxisRef("a"),), Mesh((MeshAxis("a", 2), MeshAxis("b", 2))), 1)
    ((0, 2), (1, 3))
    """
    weights = _weights(axes, mesh)
    count = prod(size for _, size in weights)
    devices = mesh.devices()
    pairs: list[tuple[int, int]] = []
    for position, device in enumerate(devices):
        shard = _shard_at(position, weights)
        if 0 <= shard + hops < count:
            moved = position - _position_of(shard, weights) + _position_of(shard + hops, weights)
            pairs.append((device, devices[moved]))
    return tuple(pairs)


def mesh_reversed_along(axes: AxisList, mesh: Mesh) -> Mesh:
    """The mesh on which each device has the coordinates along `axes` counted from the other end.

    >>> from sdy.model.axis import AxisRef
    >>> from sdy.model.mesh import MeshAxis
    >>> mesh_reversed_along((AxisRef("a"),), Mesh((MeshAxis("a", 2), MeshAxis("b", 2)))).device_ids
    (2, 3, 0, 1)
    """
    weights = _weights(axes, mesh)
    devices = mesh.devices()
    opposite = [
        position + sum(weight * (size - 1 - 2 * (position // weight % size)) for weight, size in weights)
        for position in range(len(devices))
    ]
    return Mesh(mesh.axes, tuple(devices[position] for position in opposite))


def _weights(axes: AxisList, mesh: Mesh) -> Weights:
    return [(device_stride(ref, mesh), mesh.size_of(ref)) for ref in axes]


def _shard_at(position: int, weights: Weights) -> int:
    shard = 0
    for weight, size in weights:
        shard = shard * size + position // weight % size
    return shard


def _position_of(shard: int, weights: Weights) -> int:
    """What a shard's number contributes to the position of the devices that hold it."""
    position = 0
    for weight, size in reversed(weights):
        position += shard % size * weight
        shard //= size
    return position
