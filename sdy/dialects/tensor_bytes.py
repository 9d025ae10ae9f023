"""The size of tensors in bytes."""

from __future__ import annotations

from math import prod

from xdsl.ir import Attribute

from sdy.dialects.constants.elements import codec_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import as_tensor

_MAX_CACHED_SIZES = 65536
_sizes: dict[int, tuple[Attribute, int]] = {}


def tensor_bytes(value_type: Attribute) -> int:
    """Return the bytes of a tensor of static shape; 0 for anything else, such as a token.

    Results are cached by the id of the type, of which a program has few.
    """
    cached = _sizes.get(id(value_type))
    if cached is not None:
        return cached[1]
    tensor, shape = as_tensor(value_type), static_shape(value_type)
    size = 0 if tensor is None or shape is None else prod(shape) * element_bytes(tensor.element_type)
    if len(_sizes) == _MAX_CACHED_SIZES:
        _sizes.clear()
    _sizes[id(value_type)] = value_type, size  # keeps the type alive, so that its id is not reused
    return size


def element_bytes(element_type: Attribute) -> int:
    """Return the bytes of one element; types of less than a byte count as one byte, types without data as 0."""
    codec = codec_of(element_type)
    return 0 if codec is None else codec.byte_width
