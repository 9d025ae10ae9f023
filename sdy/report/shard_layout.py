"""The layout of a tensor on devices: the shards of each dim, and the devices that hold each shard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sdy.model.axis_list import sharded_size
from sdy.model.devices.tiling import shard_coordinates
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding


@dataclass(frozen=True, slots=True)
class ShardedDim:
    """A dim and its number of shards. Shards have equal sizes, except that the last ones may be smaller or empty."""

    size: int
    shard_count: int

    def span(self, shard: int) -> tuple[int, int]:
        """Return the start and end of a shard. They are equal for a shard that is only padding."""
        length = -(-self.size // self.shard_count)
        return min(shard * length, self.size), min((shard + 1) * length, self.size)

    def fraction(self, shard: int) -> float:
        """Return the size of a shard relative to the dim."""
        start, end = self.span(shard)
        return (end - start) / self.size if self.size else 1.0


def sharded_dims(shape: Sequence[int], sharding: TensorSharding, mesh: Mesh) -> list[ShardedDim]:
    """Return the dims of a tensor with their numbers of shards."""
    if mesh.is_maximal:  # a sharding on a single device lists no dims
        return [ShardedDim(size, 1) for size in shape]
    return [ShardedDim(size, sharded_size(dim.axes, mesh)) for size, dim in zip(shape, sharding.dims, strict=True)]


def holders_of_shards(rank: int, sharding: TensorSharding, mesh: Mesh) -> dict[tuple[int, ...], list[int]]:
    """Return the devices that hold each shard; a shard is identified by its coordinate in each dim."""
    if mesh.is_maximal:
        return {(0,) * rank: list(mesh.device_ids)}
    coordinates = [shard_coordinates(dim.axes, mesh) for dim in sharding.dims]
    holders: dict[tuple[int, ...], list[int]] = {}
    for device in sorted(mesh.listed_devices()):
        holders.setdefault(tuple(of_device[device] for of_device in coordinates), []).append(device)
    return holders
