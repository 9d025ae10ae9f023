"""Types of ops that make or rearrange tensors."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import DYNAMIC_INDEX, i1, i32
from xdsl.ir import Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import codec_of
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
    """A constant has the type of its value."""
    value = op.properties["value"]
    result = op.results[0]
    if isinstance(value, DenseElementsAttr) and result.type != value.type:
        fail(op, "SDY-D012", f"{name_of(op, result)} should have the type of the value, {value.type}")


def check_iota(op: Operation) -> None:
    """`iota`: the dim is one of the result's."""
    if tensor(op, op.results[0]).element_type == i1:
        fail(op, "SDY-D017", f"{name_of(op, op.results[0])} cannot count")
    dim, rank = integer(op, "iota_dimension"), len(shape(op, op.results[0]))
    require_dims(op, "iota_dimension", [dim], rank, "the result")


def check_same_element_type(op: Operation) -> None:
    """The first operand and the result have the same element type."""
    require_same_element_type(op, (op.operands[0], op.results[0]))


def check_broadcast_in_dim(op: Operation) -> None:
    """Each dim of the operand has the size of its dim in the result, or is 1."""
    check_same_element_type(op)
    operand, result = shape(op, op.operands[0]), shape(op, op.results[0])
    dims = require_length(op, "broadcast_dimensions", len(operand), "the operand")
    require_dims(op, "broadcast_dimensions", dims, len(result), "the result")
    for index, (size, dim) in enumerate(zip(operand, dims, strict=True)):
        if size not in (1, result[dim]) and DYNAMIC_INDEX not in (size, result[dim]):
            message = f"dim {index} of the operand has size {size}, dim {dim} of the result size {result[dim]}"
            fail(op, "SDY-D013", message, "a dim that is repeated has size 1")


def check_broadcast(op: Operation) -> None:
    """`broadcast`: the new dims come first."""
    check_same_element_type(op)
    wanted = (*ints(op, "broadcast_sizes"), *shape(op, op.operands[0]))
    require_shape(op, op.results[0], wanted, "sizes and operand give it")


def check_reshape(op: Operation) -> None:
    """`reshape`: as many elements after as before."""
    check_same_element_type(op)
    before, after = shape(op, op.operands[0]), shape(op, op.results[0])
    if DYNAMIC_INDEX not in (*before, *after) and math.prod(before) != math.prod(after):
        counts = f"{math.prod(before)} elements in {shape_text(before)}, {math.prod(after)} in {shape_text(after)}"
        fail(op, "SDY-D012", f"{counts}: a reshape keeps their number")


def check_transpose(op: Operation) -> None:
    """`transpose`: dim i of the result is dim `permutation[i]` of the operand."""
    check_same_element_type(op)
    operand = shape(op, op.operands[0])
    permutation = require_length(op, "permutation", len(operand), "the operand")
    require_dims(op, "permutation", permutation, len(operand), "the operand")
    require_shape(op, op.results[0], [operand[dim] for dim in permutation], "the permutation gives it")


def check_reverse(op: Operation) -> None:
    """`reverse`: the dims are dims of the operand, whose type stays."""
    require_same_type(op, (op.operands[0], op.results[0]))
    require_dims(op, "dimensions", ints(op, "dimensions"), len(shape(op, op.operands[0])), "the operand")


def check_bitcast_convert(op: Operation) -> None:
    """`bitcast_convert`: where the widths of the elements differ, a last dim makes up for it."""
    before, after = tensor(op, op.operands[0]), tensor(op, op.results[0])
    codecs = codec_of(before.element_type), codec_of(after.element_type)
    if codecs[0] is None or codecs[1] is None:
        return
    widths = codecs[0].bit_width, codecs[1].bit_width
    wide, narrow = (before, after) if widths[0] >= widths[1] else (after, before)
    ratio = max(widths) // min(widths)
    wanted = (*wide.get_shape(), ratio) if ratio > 1 else wide.get_shape()
    value = op.results[0] if narrow is after else op.operands[0]
    require_shape(op, value, wanted, "the element widths give it")


def check_get_dimension_size(op: Operation) -> None:
    """`get_dimension_size`: the size is one number of 32 bits."""
    check_dimension(op)
    require_shape(op, op.results[0], (), "it is one size")
    require_element_type(op, op.results[0], i32, "it is a size")


def check_dynamic_broadcast_in_dim(op: Operation) -> None:
    """`dynamic_broadcast_in_dim`: what is known of expansion speaks of each dim of the operand once at most."""
    known = ints(op, "known_expanding_dimensions") + ints(op, "known_nonexpanding_dimensions")
    require_dims(op, "known dimensions", known, len(shape(op, op.operands[0])), "the operand")


def check_dimension(op: Operation) -> None:
    """The property `dimension` is a dim of the operand."""
    require_dims(op, "dimension", [integer(op, "dimension")], len(shape(op, op.operands[0])), "the operand")
