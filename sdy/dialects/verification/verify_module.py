"""Verification of a module: each op, the order of definitions and uses, functions and calls, and shardings."""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, OpResult

from sdy.dialects.ir.fast_ops import operands_of
from sdy.dialects.ir.walk import blocks_of, ops_in
from sdy.dialects.stablehlo.calls import CompositeOp
from sdy.dialects.verification.attribute_checks import AttributeChecks
from sdy.dialects.verification.function_types import check_calls
from sdy.dialects.verification.op_checks import (
    OpChecks,
    check_is_last,
    check_terminator,
    is_terminator,
    is_verified_by_signature,
)
from sdy.dialects.verification.sdy_shardings import verify_sdy
from sdy.dialects.verification.visibility import check_is_visible

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
    return is_verified_by_signature(op_class) and not issubclass(op_class, CallLikeOp) and not is_terminator(op_class)
