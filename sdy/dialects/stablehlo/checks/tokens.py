"""Checks of ops on tuples."""

from __future__ import annotations

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Operation

from sdy.dialects.stablehlo.checks.requirements import fail, have_compatible_types, integer, name_of


def check_tuple(op: Operation) -> None:
    """Check that the result type lists the types of the operands."""
    actual = op.results[0].type
    if not isinstance(actual, TupleType) or tuple(actual.types) != tuple(op.operand_types):
        expected = ", ".join(map(str, op.operand_types))
        fail(op, "SDY-D012", f"{name_of(op, op.results[0])} must have type tuple<{expected}>")


def check_get_tuple_element(op: Operation) -> None:
    """Check that the tuple has the element, and that the result has its type."""
    tuple_type, index = op.operands[0].type, integer(op, "index")
    if not isinstance(tuple_type, TupleType):
        fail(op, "SDY-D011", f"{name_of(op, op.operands[0])} must be a tuple")
    if not 0 <= index < len(tuple_type.types):
        fail(op, "SDY-D015", f"index is {index}, but the tuple has {len(tuple_type.types)} elements")
    expected = tuple_type.types.data[index]
    if not have_compatible_types(expected, op.results[0].type):
        message = f"{name_of(op, op.results[0])} must have type {expected}, the type of element {index} of the tuple"
        fail(op, "SDY-D012", message)
