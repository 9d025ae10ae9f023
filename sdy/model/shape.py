"""Global and local shapes of values.

Source: docs/spec/01, 3.5.
"""

from __future__ import annotations

from enum import Enum

from sdy.model.axis_list import sharded_size
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding

StaticShape = tuple[int, ...]
Shape = tuple[int | None, ...]  # None: a dim of dynamic size


class Shapeless(Enum):
    """Reasons why a value has no shape. The enum value is its description in messages."""

    NO_VALUE = "no value"
    NOT_SHAPED = "a value without a shape"
    UNRANKED = "an unranked tensor"
    TUPLE = "a tuple that does not have exactly one element"


ValueShape = Shape | Shapeless


def local_shape(shape: Shape, sharding: TensorSharding, mesh: Mesh, *, allow_uneven: bool = True) -> Shape | None:
    """Return the shape of one shard: every static dim divided by its sharded size, rounded up.

    Return None if a dim is not divisible and `allow_uneven` is False. A sharding of rank 0 keeps any shape.
    """
    if not sharding.dims:
        return shape
    local: list[int | None] = []
    for size, dim in zip(shape, sharding.dims, strict=True):
        shard_count = sharded_size(dim.axes, mesh)
        if size is not None and size % shard_count and not allow_uneven:
            return None
        local.append(None if size is None else -(-size // shard_count))
    return tuple(local)


def global_shape(shape: Shape, sharding: TensorSharding, mesh: Mesh) -> Shape:
    """Return the global shape whose shards have `shape`, ignoring padding: every static dim times its sharded size."""
    if not sharding.dims:
        return shape
    return tuple(
        None if size is None else size * sharded_size(dim.axes, mesh)
        for size, dim in zip(shape, sharding.dims, strict=True)
    )
