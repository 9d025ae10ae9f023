"""Types of ops that make or rearrange tensors."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import DYNAMIC_INDEX, i1, i32
from xdsl.ir import Operation

from sdy.dialects.constants.dense import DenseElementsAttr
from sdy.dialects.constants.elements import codec_of
from sdy.dialects.stablehlo.checks.demands import (
    demand_dims,
    demand_element,
    demand_length,
    demand_same_element,
    demand_same_type,
    demand_shape,
    fail,
    integer,
    ints,
    name_of,
    shape,
    shape_text,
    tensor,
)


def is_its_value(op: Operation) -> None:
    """A constant has the type of its value."""
    value = op.properties["value"]
    result = op.results[0]
    if isinstance(value, DenseElementsAttr) and result.type != value.type:
        fail(op, "SDY-D012", f"{name_of(op, result)} should have the type of the value, {value.type}")


def counts_along_dim(op: Operation) -> None:
    """`iota`: the dim is one of the result's."""
    if tensor(op, op.results[0]).element_type == i1:
        fail(op, "SDY-D017", f"{name_of(op, op.results[0])} cannot count")
    dim, rank = integer(op, "iota_dimension"), len(shape(op, op.results[0]))
    demand_dims(op, "iota_dimension", [dim], rank, "the result")


def keeps_element(op: Operation) -> None:
    """The first operand and the result have the same element type."""
    demand_same_element(op, (op.operands[0], op.results[0]))


def broadcasts_in_dim(op: Operation) -> None:
    """Each dim of the operand has the size of its dim in the result, or is 1."""
    keeps_element(op)
    operand, result = shape(op, op.operands[0]), shape(op, op.results[0])
    dims = demand_length(op, "broadcast_dimensions", len(operand), "the operand")
    demand_dims(op, "broadcast_dimensions", dims, len(result), "the result")
    for index, (size, dim) in enumerate(zip(operand, dims, strict=True)):
        if size not in (1, result[dim]) and DYNAMIC_INDEX not in (size, result[dim]):
            message = f"dim {index} of the operand has size {size}, dim {dim} of the result size {result[dim]}"
            fail(op, "SDY-D013", message, "a dim that is repeated has size 1")


def broadcasts_in_front(op: Operation) -> None:
    """`broadcast`: the new dims come first."""
    keeps_element(op)
    wanted = (*ints(op, "broadcast_sizes"), *shape(op, op.operands[0]))
    demand_shape(op, op.results[0], wanted, "sizes and operand give it")


def keeps_count(op: Operation) -> None:
    """`reshape`: as many elements after as before."""
    keeps_element(op)
    before, after = shape(op, op.operands[0]), shape(op, op.results[0])
    if DYNAMIC_INDEX not in (*before, *after) and math.prod(before) != math.prod(after):
        counts = f"{math.prod(before)} elements in {shape_text(before)}, {math.prod(after)} in {shape_text(after)}"
        fail(op, "SDY-D012", f"{counts}: a reshape keeps their number")


def permutes(op: Operation) -> None:
    """`transpose`: dim i of the result is dim `permutation[i]` of the operand."""
    keeps_element(op)
    operand = shape(op, op.operands[0])
    permutation = demand_length(op, "permutation", len(operand), "the operand")
    demand_dims(op, "permutation", permutation, len(operand), "the operand")
    demand_shape(op, op.results[0], [operand[dim] for dim in permutation], "the permutation gives it")


def reverses(op: Operation) -> None:
    """`reverse`: the dims are dims of the operand, whose type stays."""
    demand_same_type(op, (op.operands[0], op.results[0]))
    demand_dims(op, "dimensions", ints(op, "dimensions"), len(shape(op, op.operands[0])), "the operand")


def keeps_bits(op: Operation) -> None:
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
    demand_shape(op, value, wanted, "the element widths give it")


def measures_dim(op: Operation) -> None:
    """`get_dimension_size`: the size is one number of 32 bits."""
    names_a_dim(op)
    demand_shape(op, op.results[0], (), "it is one size")
    demand_element(op, op.results[0], i32, "it is a size")


def hints_at_dims(op: Operation) -> None:
    """`dynamic_broadcast_in_dim`: what is known of expansion speaks of each dim of the operand once at most."""
    known = ints(op, "known_expanding_dimensions") + ints(op, "known_nonexpanding_dimensions")
    demand_dims(op, "known dimensions", known, len(shape(op, op.operands[0])), "the operand")


def names_a_dim(op: Operation) -> None:
    """The property `dimension` is a dim of the operand."""
    demand_dims(op, "dimension", [integer(op, "dimension")], len(shape(op, op.operands[0])), "the operand")
