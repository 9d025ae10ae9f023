"""Checks of ops that slice, concatenate and pad tensors."""

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
    """Check that, for each dim, start and limit lie within the operand and that the stride is positive."""
    require_same_element_type(op, (op.operands[0], op.results[0]))
    operand = shape(op, op.operands[0])
    names = ("start_indices", "limit_indices", "strides")
    columns = [require_length(op, name, len(operand), "the operand") for name in names]
    expected: list[int] = []
    for dim, (size, start, limit, stride) in enumerate(zip(operand, *columns, strict=True)):
        if stride < 1:
            fail(op, "SDY-D016", f"stride of dim {dim} must be at least 1, got {stride}")
        if not 0 <= start <= limit or (limit > size and size != DYNAMIC_INDEX):
            fail(op, "SDY-D016", f"slice {start}:{limit} of dim {dim} must lie within its size {size}")
        expected.append(-(-(limit - start) // stride))
    require_shape(op, op.results[0], expected, "inferred from start_indices, limit_indices and strides")


def check_dynamic_slice(op: Operation) -> None:
    """Check that there is one start per dim, and that slice sizes are at most those of the operand."""
    operand_value, *starts = op.operands
    operand = shape(op, operand_value)
    require_same_element_type(op, (operand_value, op.results[0]))
    sizes = require_length(op, "slice_sizes", len(operand), "the operand")
    _require_starts(op, len(operand), len(starts))
    for dim, (size, slice_size) in enumerate(zip(operand, sizes, strict=True)):
        if slice_size < 0 or (slice_size > size and size != DYNAMIC_INDEX):
            fail(op, "SDY-D016", f"slice size of dim {dim} must be from 0 to its size {size}, got {slice_size}")
    require_shape(op, op.results[0], sizes, "inferred from slice_sizes")


def check_dynamic_update_slice(op: Operation) -> None:
    """Check that there is one start per dim, and that the update is no larger than the operand."""
    operand_value, update_value, *starts = op.operands
    require_same_type(op, (operand_value, op.results[0]))
    require_same_element_type(op, (operand_value, update_value))
    operand, update = shape(op, operand_value), shape(op, update_value)
    _require_starts(op, len(operand), len(starts))
    if len(operand) != len(update):
        fail(op, "SDY-D013", f"operand and update must have the same rank, got {len(operand)} and {len(update)}")
    for dim, (size, update_size) in enumerate(zip(operand, update, strict=True)):
        if update_size > size and DYNAMIC_INDEX not in (size, update_size):
            fail(op, "SDY-D016", f"size of dim {dim} of the update must be at most {size}, got {update_size}")


def check_concatenate(op: Operation) -> None:
    """Check that the inputs differ only in the size of one dim, and that the result has the sum of these sizes."""
    if not op.operands:
        fail(op, "SDY-D001", "expected at least one operand")
    require_same_element_type(op, (*op.operands, op.results[0]))
    shapes = [shape(op, value) for value in op.operands]
    rank = len(shapes[0])
    dim = integer(op, "dimension")
    require_dims(op, "dimension", [dim], rank, "the first input")
    sizes = [each[dim] for each in shapes if len(each) == rank]
    for value in op.operands:
        expected = (*shapes[0][:dim], DYNAMIC_INDEX, *shapes[0][dim + 1 :])
        require_shape(op, value, expected, "inferred from the first input")
    total = DYNAMIC_INDEX if DYNAMIC_INDEX in sizes else sum(sizes)
    require_shape(op, op.results[0], (*shapes[0][:dim], total, *shapes[0][dim + 1 :]), "inferred from the inputs")


def check_pad(op: Operation) -> None:
    """Check that the dims of the result are those of the operand plus low, high and interior padding."""
    require_same_element_type(op, (op.operands[0], op.operands[1], op.results[0]))
    require_shape(op, op.operands[1], (), "the padding value")
    operand = shape(op, op.operands[0])
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    columns = [require_length(op, name, len(operand), "the operand") for name in names]
    expected: list[int] = []
    for dim, (size, low, high, interior) in enumerate(zip(operand, *columns, strict=True)):
        if interior < 0:
            fail(op, "SDY-D016", f"interior padding of dim {dim} must not be negative, got {interior}")
        padded = size + low + high + max(size - 1, 0) * interior
        if padded < 0 and size != DYNAMIC_INDEX:
            message = f"low padding {low} and high padding {high} of dim {dim} of size {size} result in size {padded}"
            fail(op, "SDY-D016", message)
        expected.append(DYNAMIC_INDEX if size == DYNAMIC_INDEX else padded)
    require_shape(op, op.results[0], expected, "inferred from the operand and the padding")


def _require_starts(op: Operation, rank: int, count: int) -> None:
    if count != rank:
        fail(op, "SDY-D014", f"expected one start index per dim of the operand ({rank}), got {count}")
