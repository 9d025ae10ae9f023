"""Count the elements that a device misses when a tensor is resharded: a lower bound for every plan."""

from __future__ import annotations

from math import prod

from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding


def missing_elements(source: TensorSharding, target: TensorSharding, shape: tuple[int, ...], mesh: Mesh) -> int:
    """Return the largest number of elements that a device needs and does not hold.

    Both shardings must divide the shape.
    """
    held = [1] * mesh.device_count
    needed = [1] * mesh.device_count
    for size, old, new in zip(shape, source.dims, target.dims, strict=True):
        coordinates = [shard_coordinates(dim.axes, mesh) for dim in (old, new)]
        lengths = [size // (max(each) + 1) for each in coordinates]
        for device in range(mesh.device_count):
            starts = [each[device] * length for each, length in zip(coordinates, lengths, strict=True)]
            ends = [start + length for start, length in zip(starts, lengths, strict=True)]
            held[device] *= max(0, min(ends) - max(starts))
            needed[device] *= lengths[1]
    assert prod(shape) >= max(needed)
    return max(need - have for need, have in zip(needed, held, strict=True))
