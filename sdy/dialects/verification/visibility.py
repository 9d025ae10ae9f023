"""Verification that a value is visible to the op that uses it: defined before it, in its block or an enclosing one."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsolatedFromAbove

from sdy.diagnostics.diagnostic import Note
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.text.printer import op_name
from sdy.dialects.verification.op_checks import op_failure

# Returns whether the op of a result comes before an op of the same block.
IsDefinedBefore = Callable[[OpResult, Operation], bool]


def check_is_visible(value: SSAValue, user: Operation, is_defined_before: IsDefinedBefore) -> None:
    """Check that `value` is visible to `user`. Raises: SdyError SDY-D003, SDY-D004."""
    # Classes are compared with `is`: `isinstance` is slow for these.
    defining_block = value.op.parent if type(value) is OpResult else cast(BlockArgument, value).block
    if defining_block is user.parent and _is_defined(value, user, is_defined_before):
        return
    enclosing: Operation | None = user
    while enclosing is not None and enclosing.parent is not defining_block:
        if _is_sibling(enclosing.parent, defining_block):
            return  # another block of the same region: dominance between blocks is not verified
        enclosing = enclosing.parent_op()
        if enclosing is not None and enclosing.has_trait(IsolatedFromAbove, value_if_unregistered=False):
            raise op_failure(
                user,
                "SDY-D004",
                f"{op_name(user)} uses a value defined outside of {enclosing.name}, which is isolated from above",
            )
    if enclosing is None:
        raise op_failure(user, "SDY-D003", f"{op_name(user)} uses a value that is not visible to it")
    if type(value) is OpResult and not _is_defined(value, enclosing, is_defined_before):
        message = f"operand {operands_of(user).index(value)} of {op_name(user)} is used before it is defined"
        note = Note(f"{op_name(value.op)} defines it here", span_of(value.op))
        raise op_failure(user, "SDY-D003", message, *([] if value.op is user else [note]))


def _is_defined(value: SSAValue, op: Operation, is_defined_before: IsDefinedBefore) -> bool:
    return type(value) is not OpResult or is_defined_before(value, op)


def _is_sibling(block: Block | None, other: Block | None) -> bool:
    """Return whether two different blocks are in the same region."""
    return block is not None and other is not None and block is not other and other.parent is block.parent
