"""Values as text, as the reference interpreter prints tensors and as MLIR constants, and `dense<...>` as arrays."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from sdy.dialects.constants.dense import DenseElements, DenseElementsAttr, DenseType
from sdy.dialects.constants.elements import ComplexCodec, ElementCodec
from sdy.dialects.stablehlo.attributes.types import AnyTensor, as_tensor
from sdy.interpreter.arrays.element_types import Array, bit_width, dtype_of, is_bool, is_sub_byte


def tensor_text(array: Array, value_type: Attribute) -> str:
    """Return the value in braces, one line per innermost list: `tensor<2x2xi8> {`, `  [`, `    [1, 2],` and so on.

    A scalar takes one line; a value without elements, such as a token, is its type alone.
    """
    tensor = _type_of(array, value_type)
    if tensor is None:
        return str(value_type)
    elements = _element_texts(array, tensor)
    if not array.ndim:
        return f"{tensor} {{{elements[0]}}}"
    return "\n".join([f"{tensor} {{", *_lines(elements, array.shape, "  "), "}"])


def dense_text(array: Array, value_type: Attribute) -> str:
    """Return the value as an MLIR constant, `dense<[1, 2]> : tensor<2xi8>`."""
    tensor = _type_of(array, value_type)
    return str(value_type if tensor is None else attribute_of(array, tensor))


def element_text(element: Array, value_type: Attribute) -> str:
    """Return one element of a tensor of this type, as MLIR writes it."""
    scalar = _type_of(element, value_type)
    if scalar is None:
        return str(element)
    dense = attribute_of(element, scalar).data
    return dense.codec.text(dense.raw)


def _type_of(array: Array, value_type: Attribute) -> AnyTensor | None:
    """Return the tensor type with the actual sizes, since declared ones may be dynamic; None for other types."""
    tensor = as_tensor(value_type)
    return None if tensor is None else TensorType(tensor.element_type, array.shape, tensor.encoding)


def _element_texts(array: Array, tensor: AnyTensor) -> list[str]:
    dense = attribute_of(array, tensor)
    codec = dense.data.codec
    width = codec.byte_width
    raw = dense.data.raw * (array.size if dense.is_splat else 1)
    return [_element_text(codec, raw[start : start + width]) for start in range(0, array.size * width, width)]


def _element_text(codec: ElementCodec, raw: bytes) -> str:
    if not isinstance(codec, ComplexCodec):
        return codec.text(raw)
    half = codec.part.byte_width
    return f"[{codec.part.text(raw[:half])}, {codec.part.text(raw[half:])}]"


def _lines(elements: list[str], shape: tuple[int, ...], indent: str) -> list[str]:
    """Return the lines of nested lists, one per innermost list."""
    if len(shape) == 1 or not shape[0]:
        return [f"{indent}[{', '.join(elements)}]"]
    count = int(np.prod(shape[1:]))
    lines = [f"{indent}["]
    for row in range(shape[0]):
        inner = _lines(elements[row * count : (row + 1) * count], shape[1:], indent + "  ")
        lines += [*inner[:-1], inner[-1] + ("," if row + 1 < shape[0] else "")]
    return [*lines, f"{indent}]"]


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
