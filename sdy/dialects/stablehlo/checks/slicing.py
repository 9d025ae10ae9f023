"""Types of ops that cut and glue tensors."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from sdy.dialects.stablehlo.checks.requirements import (
    fail,
    integer,
    require_dims,
    require_length,
    require_same_element_type,
    require_same_type,
    require_shape,
    shape,
)


def check_slice(op: Operation) -> None:
    """`slice`: per dim, starts and limits lie within the operand, and strides are positive."""
    require_same_element_type(op, (op.operands[0], op.results[0]))
    operand = shape(op, op.operands[0])
    names = ("start_indices", "limit_indices", "strides")
    columns = [require_length(op, name, len(operand), "the operand") for name in names]
    wanted: list[int] = []
    for dim, (size, start, limit, stride) in enumerate(zip(operand, *columns, strict=True)):
        if stride < 1:
            fail(op, "SDY-D016", f"the stride of dim {dim} is {stride}, it should be at least 1")
        if not 0 <= start <= limit or (limit > size and size != DYNAMIC_INDEX):
            fail(op, "SDY-D016", f"dim {dim} has size {size}, the slice goes from {start} to {limit}")
        wanted.append(-(-(limit - start) // stride))
    require_shape(op, op.results[0], wanted, "starts, limits and strides give it")


def check_dynamic_slice(op: Operation) -> None:
    """`dynamic_slice`: one start per dim, sizes within the operand."""
    operand_value, *starts = op.operands
    operand = shape(op, operand_value)
    require_same_element_type(op, (operand_value, op.results[0]))
    sizes = require_length(op, "slice_sizes", len(operand), "the operand")
    _require_starts(op, len(operand), len(starts))
    for dim, (size, cut) in enumerate(zip(operand, sizes, strict=True)):
        if cut < 0 or (cut > size and size != DYNAMIC_INDEX):
            fail(op, "SDY-D016", f"dim {dim} has size {size}, the slice size {cut}")
    require_shape(op, op.results[0], sizes, "slice_sizes gives it")


def check_dynamic_update_slice(op: Operation) -> None:
    """`dynamic_update_slice`: the update is no larger than the operand, one start per dim."""
    operand_value, update_value, *starts = op.operands
    require_same_type(op, (operand_value, op.results[0]))
    require_same_element_type(op, (operand_value, update_value))
    operand, update = shape(op, operand_value), shape(op, update_value)
    _require_starts(op, len(operand), len(starts))
    if len(operand) != len(update):
        fail(op, "SDY-D013", f"the operand has {len(operand)} dims, the update {len(update)}")
    for dim, (size, part) in enumerate(zip(operand, update, strict=True)):
        if part > size and DYNAMIC_INDEX not in (size, part):
            fail(op, "SDY-D016", f"dim {dim} has size {size}, the update size {part}")


def check_concatenate(op: Operation) -> None:
    """`concatenate`: the inputs differ in one dim at most, and their sizes there add up."""
    if not op.operands:
        fail(op, "SDY-D001", "there is nothing to concatenate")
    require_same_element_type(op, (*op.operands, op.results[0]))
    shapes = [shape(op, value) for value in op.operands]
    rank = len(shapes[0])
    dim = integer(op, "dimension")
    require_dims(op, "dimension", [dim], rank, "the first input")
    sizes = [of[dim] for of in shapes if len(of) == rank]
    for value in op.operands:
        wanted = (*shapes[0][:dim], DYNAMIC_INDEX, *shapes[0][dim + 1 :])
        require_shape(op, value, wanted, "the first input gives it")
    total = DYNAMIC_INDEX if DYNAMIC_INDEX in sizes else sum(sizes)
    require_shape(op, op.results[0], (*shapes[0][:dim], total, *shapes[0][dim + 1 :]), "the inputs give it")


def check_pad(op: Operation) -> None:
    """`pad`: the dims of the result are those of the operand with all that is put in or cut off."""
    require_same_element_type(op, (op.operands[0], op.operands[1], op.results[0]))
    require_shape(op, op.operands[1], (), "it fills all places")
    operand = shape(op, op.operands[0])
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    columns = [require_length(op, name, len(operand), "the operand") for name in names]
    wanted: list[int] = []
    for dim, (size, low, high, interior) in enumerate(zip(operand, *columns, strict=True)):
        if interior < 0:
            fail(op, "SDY-D016", f"the interior padding of dim {dim} is {interior}, it cannot be negative")
        padded = size + low + high + max(size - 1, 0) * interior
        if padded < 0 and size != DYNAMIC_INDEX:
            fail(op, "SDY-D016", f"dim {dim} has size {size}, padding by {low} and {high} leaves {padded}")
        wanted.append(DYNAMIC_INDEX if size == DYNAMIC_INDEX else padded)
    require_shape(op, op.results[0], wanted, "operand and padding give it")


def _require_starts(op: Operation, rank: int, count: int) -> None:
    if count != rank:
        fail(op, "SDY-D014", f"start_indices has {count} operands, the operand has {rank} dims")
