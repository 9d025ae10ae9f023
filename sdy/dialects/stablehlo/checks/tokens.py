"""Types of values that are no tensors."""

from __future__ import annotations

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Operation

from sdy.dialects.stablehlo.checks.requirements import fail, have_compatible_types, integer, name_of


def check_tuple(op: Operation) -> None:
    """`tuple`: the result lists the types of the operands."""
    found = op.results[0].type
    if not isinstance(found, TupleType) or tuple(found.types) != tuple(op.operand_types):
        wanted = ", ".join(map(str, op.operand_types))
        fail(op, "SDY-D012", f"{name_of(op, op.results[0])} should be tuple<{wanted}>")


def check_get_tuple_element(op: Operation) -> None:
    """`get_tuple_element`: the tuple has such an element, and the result its type."""
    found, index = op.operands[0].type, integer(op, "index")
    if not isinstance(found, TupleType):
        fail(op, "SDY-D011", f"{name_of(op, op.operands[0])} is no tuple")
    if not 0 <= index < len(found.types):
        fail(op, "SDY-D015", f"index is {index}, the tuple has {len(found.types)} elements")
    wanted = found.types.data[index]
    if not have_compatible_types(wanted, op.results[0].type):
        fail(op, "SDY-D012", f"{name_of(op, op.results[0])} should be {wanted}, as element {index} of the tuple")
