"""What devices lack when a tensor is resharded, counted element by element: no plan can move less."""

from __future__ import annotations

from math import prod

from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding


def elements_lacking(source: TensorSharding, target: TensorSharding, shape: tuple[int, ...], mesh: Mesh) -> int:
    """Elements that the worst device is to have and does not hold. Both shardings divide the shape."""
    held = [1] * mesh.device_count
    wanted = [1] * mesh.device_count
    for size, old, new in zip(shape, source.dims, target.dims, strict=True):
        places = [shard_coordinates(dim.axes, mesh) for dim in (old, new)]
        lengths = [size // (max(place) + 1) for place in places]
        for device in range(mesh.device_count):
            starts = [place[device] * length for place, length in zip(places, lengths, strict=True)]
            ends = [start + length for start, length in zip(starts, lengths, strict=True)]
            held[device] *= max(0, min(ends) - max(starts))
            wanted[device] *= lengths[1]
    assert prod(shape) >= max(wanted)
    return max(need - have for need, have in zip(wanted, held, strict=True))
