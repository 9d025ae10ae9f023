"""The size of tensors in bytes."""

from __future__ import annotations

from math import prod

from xdsl.ir import Attribute

from sdy.dialects.constants.elements import codec_of
from sdy.dialects.sharded_types import static_shape
from sdy.dialects.stablehlo.attributes.types import as_tensor


def tensor_bytes(value_type: Attribute) -> int:
    """Return the bytes of a tensor of static shape; 0 for anything else, such as a token."""
    tensor, shape = as_tensor(value_type), static_shape(value_type)
    return 0 if tensor is None or shape is None else prod(shape) * element_bytes(tensor.element_type)


def element_bytes(element_type: Attribute) -> int:
    """Return the bytes of one element; types of less than a byte count as one byte, types without data as 0."""
    codec = codec_of(element_type)
    return 0 if codec is None else codec.byte_width
