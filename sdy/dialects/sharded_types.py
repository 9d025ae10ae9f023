"""Global and local types of tensors under a sharding, and their bytes. Source: docs/spec/01, 3.5."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import TypeVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ShapedType, TensorType
from xdsl.ir import Attribute

from sdy.dialects.constants.elements import codec_of
from sdy.dialects.sdy.types import TensorLikeType
from sdy.dialects.stablehlo.attributes.types import as_tensor
from sdy.model.mesh import Mesh
from sdy.model.shape import Shape, global_shape, local_shape
from sdy.model.sharding import TensorSharding


def local_type(
    value_type: Attribute, sharding: TensorSharding, mesh: Mesh, *, allow_uneven: bool = True
) -> Attribute | None:
    """Return the type of one shard of a value, or None if a dim is not divisible and `allow_uneven` is False.

    Types other than ranked tensors are returned unchanged.
    """
    tensor = _ranked_tensor(value_type)
    if tensor is None:
        return value_type
    shape = local_shape(shape_of_type(tensor), sharding, mesh, allow_uneven=allow_uneven)
    return None if shape is None else TensorType(tensor.element_type, _sizes(shape), tensor.encoding)


def global_type(value_type: Attribute, sharding: TensorSharding, mesh: Mesh) -> Attribute:
    """Return the type whose shards have type `value_type`, ignoring padding.

    The encoding is dropped if the sharding has dims.
    """
    tensor = _ranked_tensor(value_type)
    if tensor is None or not sharding.dims:
        return value_type
    return TensorType(tensor.element_type, _sizes(global_shape(shape_of_type(tensor), sharding, mesh)))


def shape_of_type(tensor: TensorType[Attribute]) -> Shape:
    """Return the sizes of the dims, None for dynamic ones."""
    return tuple(None if size == DYNAMIC_INDEX else size for size in tensor.get_shape())


def _ranked_tensor(value_type: Attribute) -> TensorType[Attribute] | None:
    return cast("TensorType[Attribute]", value_type) if isinstance(value_type, TensorType) else None


def _sizes(shape: Shape) -> list[int]:
    return [DYNAMIC_INDEX if size is None else size for size in shape]


R = TypeVar("R")
_MAX_CACHED = 65536


def _cached_by_id(function: Callable[[Attribute], R]) -> Callable[[Attribute], R]:
    """Cache the results of a function by the id of a type, of which a program has few."""
    cache: dict[int, tuple[Attribute, R]] = {}

    @wraps(function)
    def cached(value_type: Attribute) -> R:
        known = cache.get(id(value_type))
        if known is not None:
            return known[1]
        result = function(value_type)
        if len(cache) == _MAX_CACHED:
            cache.clear()
        cache[id(value_type)] = value_type, result  # keeps the type alive, so that its id is not reused
        return result

    return cached


@_cached_by_id
def static_shape(value_type: Attribute) -> tuple[int, ...] | None:
    """Return the dim sizes of a ranked tensor, or of what is sharded like one, without dynamic dims; else None."""
    if not isinstance(value_type, TensorType | TensorLikeType):
        return None
    shape = cast("ShapedType", value_type).get_shape()
    return None if DYNAMIC_INDEX in shape else shape


@_cached_by_id
def tensor_bytes(value_type: Attribute) -> int:
    """Return the bytes of a tensor of static shape; 0 for anything else, such as a token."""
    tensor, shape = as_tensor(value_type), static_shape(value_type)
    return 0 if tensor is None or shape is None else prod(shape) * element_bytes(tensor.element_type)


def element_bytes(element_type: Attribute) -> int:
    """Return the bytes of one element; types of less than a byte count as one byte, types without data as 0."""
    codec = codec_of(element_type)
    return 0 if codec is None else codec.byte_width
