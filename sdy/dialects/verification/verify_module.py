"""Verification of a module: each op, the order of definitions and uses, functions and calls, and shardings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator

from sdy.diagnostics.diagnostic import Note
from sdy.dialects.facts.traits import has_fact
from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.op_location import error_at, span_of
from sdy.dialects.ir.walk import blocks_of, ops_in
from sdy.dialects.stablehlo.calls import CompositeOp
from sdy.dialects.text.printer import op_name
from sdy.dialects.verification.attribute_checks import AttributeChecks
from sdy.dialects.verification.function_types import check_calls
from sdy.dialects.verification.op_checks import (
    OpChecks,
    check_is_last,
    check_terminator,
    is_verified_by_signature,
)
from sdy.dialects.verification.sdy_shardings import verify_sdy

CallLikeOp: TypeAlias = CallOp | CompositeOp


def verify_module(module: ModuleOp, ops: OpChecks | None = None, attributes: AttributeChecks | None = None) -> None:
    """Verify a module and all ops in it. `ops` and `attributes` remember what earlier verifications found valid.

    Raises: SdyError for the first problem, at the op that has it.
    """
    ops = ops or OpChecks()
    verification = _Verification(ops)
    verification.check(module)
    check_calls(verification.callers)
    verify_sdy(module, attributes or AttributeChecks(ops.numbers))


class _Verification:
    """One walk over ops in program order. Remembers which values are defined."""

    def __init__(self, ops: OpChecks) -> None:
        self._ops = ops
        # From the id of a block to the ids of its arguments and of the results of its ops visited so far.
        self._defined: dict[int, set[int]] = {}
        self.callers: list[CallLikeOp] = []

    def check(self, op: Operation) -> None:
        """Verify `op` and all ops inside it, except for the order of definition and use of its operands."""
        blocks = blocks_of(op) if op.regions else ()
        for block in blocks:
            check_terminator(block, op)
        self._ops.check(op)
        for block in blocks:
            self._check_block(block)
        if isinstance(op, CallLikeOp):
            self.callers.append(op)

    def _check_block(self, block: Block) -> None:
        defined = self._defined[id(block)] = set(map(id, block.args))
        last = block.last_op
        for op in ops_in(block):
            has_signature_only = is_plain(type(op)) and not op.regions  # almost always
            if not has_signature_only and op is not last:
                check_is_last(op)
            operands = operands_of(op)
            if not defined.issuperset(map(id, operands)):
                for operand in operands:
                    check_is_visible(operand, op, self._is_defined_before)
            if has_signature_only:
                self._ops.check_by_signature(op)
            else:
                self.check(op)
            defined.update(map(id, op.results))

    def _is_defined_before(self, result: OpResult, op: Operation) -> bool:
        """Return whether `result` was defined by an op visited so far; `op` encloses the op that is visited now."""
        return id(result) in self._defined.get(id(op.parent), ())


@cache
def is_plain(op_class: type[Operation]) -> bool:
    """Return whether ops of a class without regions need no check but that of their signature and their operands."""
    return (
        is_verified_by_signature(op_class)
        and not issubclass(op_class, CallLikeOp)
        and not has_fact(op_class, IsTerminator)
    )


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
        if enclosing is not None and has_fact(type(enclosing), IsolatedFromAbove):
            message = f"{op_name(user)} uses a value defined outside of {enclosing.name}, which is isolated from above"
            raise error_at(user, "SDY-D004", message)
    if enclosing is None:
        raise error_at(user, "SDY-D003", f"{op_name(user)} uses a value that is not visible to it")
    if type(value) is OpResult and not _is_defined(value, enclosing, is_defined_before):
        message = f"operand {operands_of(user).index(value)} of {op_name(user)} is used before it is defined"
        note = Note(f"{op_name(value.op)} defines it here", span_of(value.op))
        raise error_at(user, "SDY-D003", message, notes=() if value.op is user else (note,))


def _is_defined(value: SSAValue, op: Operation, is_defined_before: IsDefinedBefore) -> bool:
    return type(value) is not OpResult or is_defined_before(value, op)


def _is_sibling(block: Block | None, other: Block | None) -> bool:
    """Return whether two different blocks are in the same region."""
    return block is not None and other is not None and block is not other and other.parent is block.parent
