"""Shapes of values, whole and on one device.

Source: docs/spec/01, 3.5.
"""

from __future__ import annotations

from enum import Enum

from sdy.model.axis_list import sharded_size
from sdy.model.mesh import Mesh
from sdy.model.sharding import TensorSharding

Shape = tuple[int | None, ...]  # None: a dim whose size is not known before the program runs


class Shapeless(Enum):
    """What there is in place of a value with a shape. The value is what messages call it."""

    NO_VALUE = "no value"
    NOT_SHAPED = "a value without a shape"
    UNRANKED = "a tensor without a rank"
    TUPLE = "a tuple that is not of one element"


ValueShape = Shape | Shapeless


def local_shape(shape: Shape, sharding: TensorSharding, mesh: Mesh, *, allow_uneven: bool = True) -> Shape | None:
    """The shape of one device's shard: every known dim divided by its sharded size, rounded up.

    None where a dim is not divisible and `allow_uneven` is False. A sharding of rank 0 leaves any shape as it is.
    """
    if not sharding.dims:
        return shape
    local: list[int | None] = []
    for size, dim in zip(shape, sharding.dims, strict=True):
        pieces = sharded_size(dim.axes, mesh)
        if size is not None and size % pieces and not allow_uneven:
            return None
        local.append(None if size is None else -(-size // pieces))
    return tuple(local)


def global_shape(shape: Shape, sharding: TensorSharding, mesh: Mesh) -> Shape:
    """The shape whose shards have `shape`, padding ignored: every known dim times its sharded size."""
    if not sharding.dims:
        return shape
    return tuple(
        None if size is None else size * sharded_size(dim.axes, mesh)
        for size, dim in zip(shape, sharding.dims, strict=True)
    )
