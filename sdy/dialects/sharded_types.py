"""Global and local types of tensors under a sharding, and their bytes. Source: docs/spec/01, 3.5."""

from __future__ import annotations

from math import prod
from typing import cast

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


_MAX_CACHED_SHAPES = 65536
_shapes: dict[int, tuple[Attribute, tuple[int, ...] | None]] = {}


def static_shape(value_type: Attribute) -> tuple[int, ...] | None:
    """Return the dim sizes of a ranked tensor, or of what is sharded like one, without dynamic dims; else None.

    Results are cached by the id of the type, of which a program has few: xDSL computes the shape anew at each call.
    """
    cached = _shapes.get(id(value_type))
    if cached is not None:
        return cached[1]
    shape = _static_shape(value_type)
    if len(_shapes) == _MAX_CACHED_SHAPES:
        _shapes.clear()
    _shapes[id(value_type)] = value_type, shape  # keeps the type alive, so that its id is not reused
    return shape


def _static_shape(value_type: Attribute) -> tuple[int, ...] | None:
    if not isinstance(value_type, TensorType | TensorLikeType):
        return None
    shape = cast("ShapedType", value_type).get_shape()
    return None if DYNAMIC_INDEX in shape else shape


_MAX_CACHED_SIZES = 65536
_byte_sizes: dict[int, tuple[Attribute, int]] = {}


def tensor_bytes(value_type: Attribute) -> int:
    """Return the bytes of a tensor of static shape; 0 for anything else, such as a token.

    Results are cached by the id of the type, of which a program has few.
    """
    cached = _byte_sizes.get(id(value_type))
    if cached is not None:
        return cached[1]
    tensor, shape = as_tensor(value_type), static_shape(value_type)
    size = 0 if tensor is None or shape is None else prod(shape) * element_bytes(tensor.element_type)
    if len(_byte_sizes) == _MAX_CACHED_SIZES:
        _byte_sizes.clear()
    _byte_sizes[id(value_type)] = value_type, size  # keeps the type alive, so that its id is not reused
    return size


def element_bytes(element_type: Attribute) -> int:
    """Return the bytes of one element; types of less than a byte count as one byte, types without data as 0."""
    codec = codec_of(element_type)
    return 0 if codec is None else codec.byte_width
