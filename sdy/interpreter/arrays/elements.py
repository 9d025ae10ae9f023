"""Convert between `dense<...>` attributes and NumPy arrays."""

from __future__ import annotations

import numpy as np

from sdy.dialects.constants.dense import DenseElements, DenseElementsAttr, DenseType
from sdy.interpreter.arrays.element_types import Array, bit_width, dtype_of, is_bool, is_sub_byte


def array_of(elements: DenseElements) -> Array:
    """Return the constant as a read-only array; a splat is stored once, with strides of 0."""
    dtype = dtype_of(elements.type.get_element_type())
    shape = elements.type.get_shape()
    if is_bool(dtype):
        flat = np.frombuffer(elements.raw, np.uint8) != 0
    elif is_sub_byte(dtype):
        flat = np.frombuffer(elements.raw, np.uint8).astype(dtype)
    else:
        flat = np.frombuffer(elements.raw, np.uint8).view(dtype)
    return np.broadcast_to(flat[0], shape) if elements.is_splat else flat.reshape(shape)


def attribute_of(array: Array, dense_type: DenseType) -> DenseElementsAttr:
    """Return the constant of type `dense_type` with the elements of `array`."""
    dtype = array.dtype
    if is_bool(dtype):
        raw = array.astype(np.uint8).tobytes()
    elif is_sub_byte(dtype):
        raw = (array.astype(np.int8).view(np.uint8) & ((1 << bit_width(dtype)) - 1)).tobytes()
    else:
        raw = array.tobytes()
    return DenseElementsAttr.from_bytes(dense_type, raw)
