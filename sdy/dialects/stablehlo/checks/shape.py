"""Checks of ops that make or rearrange tensors."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import DYNAMIC_INDEX, ComplexType, IntegerType, i1, i32
from xdsl.ir import Attribute, Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import codec_of
from sdy.dialects.quant import UniformQuantizedType
from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    integer,
    ints,
    name_of,
    require_dims,
    require_element_type,
    require_length,
    require_same_element_type,
    require_same_type,
    require_shape,
    shape,
    shape_text,
    tensor,
)


def check_constant(op: Operation) -> None:
    """Check that a constant has the type of its value; quantized constants are given by the stored integers."""
    value = op.properties["value"]
    result = op.results[0]
    if not isinstance(value, DenseElementsAttr) or result.type == value.type:
        return
    stored, element = value.type.get_element_type(), tensor(op, result).element_type
    width = element.data.storage.width if isinstance(element, UniformQuantizedType) else None
    if not isinstance(stored, IntegerType) or stored.width.data != width:
        fail(op, "SDY-D012", f"{name_of(op, result)} must have the type of the value, {value.type}")
    require_shape(op, result, value.type.get_shape(), "the shape of the value")


def check_iota(op: Operation) -> None:
    """Check that `iota_dimension` is a dim of the result and that elements are not booleans."""
    if tensor(op, op.results[0]).element_type == i1:
        fail(op, "SDY-D017", f"{name_of(op, op.results[0])} must not have element type i1")
    dim, rank = integer(op, "iota_dimension"), len(shape(op, op.results[0]))
    require_dims(op, "iota_dimension", [dim], rank, "the result")


def check_same_element_type(op: Operation) -> None:
    """Check that the first operand and the result have the same element type."""
    require_same_element_type(op, (op.operands[0], op.results[0]))


def check_broadcast_in_dim(op: Operation) -> None:
    """Check that each dim of the operand has size 1 or the size of its dim in the result."""
    check_same_element_type(op)
    operand, result = shape(op, op.operands[0]), shape(op, op.results[0])
    dims = require_length(op, "broadcast_dimensions", len(operand), "the operand")
    require_dims(op, "broadcast_dimensions", dims, len(result), "the result")
    for index, (size, dim) in enumerate(zip(operand, dims, strict=True)):
        if size not in (1, result[dim]) and DYNAMIC_INDEX not in (size, result[dim]):
            message = (
                f"size of dim {index} of the operand must be 1 or {result[dim]}, the size of dim {dim} of the result"
            )
            fail(op, "SDY-D013", f"{message}, got {size}", "only dims of size 1 are repeated")


def check_broadcast(op: Operation) -> None:
    """Check that the result has the new dims before those of the operand."""
    check_same_element_type(op)
    expected = (*ints(op, "broadcast_sizes"), *shape(op, op.operands[0]))
    require_shape(op, op.results[0], expected, "inferred from broadcast_sizes and the operand")


def check_reshape(op: Operation) -> None:
    """Check that the result has as many elements as the operand."""
    check_same_element_type(op)
    before, after = shape(op, op.operands[0]), shape(op, op.results[0])
    if DYNAMIC_INDEX not in (*before, *after) and math.prod(before) != math.prod(after):
        counts = f"{math.prod(before)} ({shape_text(before)}) and {math.prod(after)} ({shape_text(after)})"
        fail(op, "SDY-D012", f"operand and result must have the same number of elements, got {counts}")


def check_output_shape(op: Operation) -> None:
    """Check that the operand that gives the shape of a reshape has one element for each dim of the result."""
    (count,), rank = shape(op, op.operands[1]), len(shape(op, op.results[0]))
    if count not in (rank, DYNAMIC_INDEX):
        fail(op, "SDY-D012", f"output_shape must have an element for each dim of the result, got {count} for {rank}")


def check_transpose(op: Operation) -> None:
    """Check that dim i of the result is dim `permutation[i]` of the operand."""
    check_same_element_type(op)
    operand = shape(op, op.operands[0])
    permutation = require_length(op, "permutation", len(operand), "the operand")
    require_dims(op, "permutation", permutation, len(operand), "the operand")
    require_shape(op, op.results[0], [operand[dim] for dim in permutation], "inferred from the operand and permutation")


def check_reverse(op: Operation) -> None:
    """Check that `dimensions` are dims of the operand, and that the result has its type."""
    require_same_type(op, (op.operands[0], op.results[0]))
    require_dims(op, "dimensions", ints(op, "dimensions"), len(shape(op, op.operands[0])), "the operand")


def check_bitcast_convert(op: Operation) -> None:
    """Check that a last dim makes up for different widths of the element types."""
    before, after = tensor(op, op.operands[0]), tensor(op, op.results[0])
    if isinstance(before.element_type, ComplexType) != isinstance(after.element_type, ComplexType):
        types = f"{name_of(op, op.operands[0])} and {name_of(op, op.results[0])}"
        fail(op, "SDY-D017", f"{types} must both have real elements, or both complex ones")
    widths = _bit_width(before.element_type), _bit_width(after.element_type)
    if widths[0] is None or widths[1] is None:
        return
    wide, narrow = (before, after) if widths[0] >= widths[1] else (after, before)
    ratio = max(widths[0], widths[1]) // min(widths[0], widths[1])
    expected = (*wide.get_shape(), ratio) if ratio > 1 else wide.get_shape()
    value = op.results[0] if narrow is after else op.operands[0]
    require_shape(op, value, expected, "inferred from the widths of the element types")


def _bit_width(element: Attribute) -> int | None:
    """Return the bits of an element, or of the integer that stores it; None if they are unknown."""
    if isinstance(element, UniformQuantizedType):
        return element.data.storage.width
    codec = codec_of(element)
    return None if codec is None else codec.bit_width


def check_get_dimension_size(op: Operation) -> None:
    """Check that the result is a `tensor<i32>` and that `dimension` is a dim of the operand."""
    check_dimension(op)
    require_shape(op, op.results[0], (), "a dim size")
    require_element_type(op, op.results[0], i32, "a dim size")


def check_dynamic_broadcast_in_dim(op: Operation) -> None:
    """Check that each dim of the operand is listed at most once as expanding or nonexpanding."""
    listed_dims = ints(op, "known_expanding_dimensions") + ints(op, "known_nonexpanding_dimensions")
    require_dims(
        op,
        "known_expanding_dimensions and known_nonexpanding_dimensions",
        listed_dims,
        len(shape(op, op.operands[0])),
        "the operand",
    )


def check_dimension(op: Operation) -> None:
    """Check that the property `dimension` is a dim of the operand."""
    require_dims(op, "dimension", [integer(op, "dimension")], len(shape(op, op.operands[0])), "the operand")
