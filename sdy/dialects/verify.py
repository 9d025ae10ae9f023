"""Whether a module is valid: its ops one by one, the order of definitions and uses, functions and calls, shardings."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import cast

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, OpTraits, SSAValue
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.func_syntax import OWN_SYNTAX
from sdy.dialects.functions import check_call, check_composite, check_function, check_return
from sdy.dialects.places import span_of
from sdy.dialects.sdy.ops import ConstantOp
from sdy.dialects.sdy.verify import verify_sdy
from sdy.dialects.stablehlo.calls import CompositeOp
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.dialects.unchecked import operands_of


def verify_module(module: ModuleOp) -> None:
    """Verify a module with all that is in it.

    Raises: SdyError with the first problem, at the op that has it.
    """
    verification = _Verification()
    verification.check(module)
    for op in verification.callers:
        if isinstance(op, CallOp):
            check_call(op)
        else:
            check_composite(op)
    verify_sdy(module)


_JUDGED_BY_TYPE = frozenset[type[Operation]]((*STABLEHLO.operations, ConstantOp))


class _Verification:
    """One walk over ops in their order; it knows which ops it has seen, and which kinds of op it has found valid."""

    def __init__(self) -> None:
        self._seen: set[int] = set()  # ops, by identity
        # What an op without regions is judged by: its class, and the identities of all its types and properties.
        self._valid: set[tuple[type[Operation] | str | int, ...]] = set()
        self.callers: list[CallOp | CompositeOp] = []

    def check(self, op: Operation) -> None:
        """Check `op`, then all that is in it."""
        home, seen = op.parent, self._seen
        for operand in operands_of(op):
            if not isinstance(operand, OpResult) or operand.op.parent is not home or id(operand.op) not in seen:
                self._check_is_visible(operand, op)
        op_class = type(op)
        if op_class in _JUDGED_BY_TYPE:
            self._check_like_others(op)
        elif not op.regions:
            _check_alone(op)
        else:
            self._check_with_regions(op)
        if op_class is CallOp or op_class is CompositeOp:
            self.callers.append(cast("CallOp | CompositeOp", op))
        seen.add(id(op))

    def _check_with_regions(self, op: Operation) -> None:
        blocks = [block for region in op.regions for block in region.blocks]
        for block in blocks:
            _check_end(block, op)
        _check_alone(op)
        for block in blocks:
            inner = block.first_op
            while inner is not None:
                self.check(inner)
                inner = inner.next_op

    def _check_like_others(self, op: Operation) -> None:
        """Equal ops are equally valid; the objects that stand for types and properties live as long as the module."""
        if op.regions:
            self._check_with_regions(op)
            return
        operands = [id(operand.type) for operand in operands_of(op)]
        results = [id(result.type) for result in op.results]
        likeness = (type(op), len(operands), *operands, *results, *op.properties, *map(id, op.properties.values()))
        if likeness not in self._valid:
            _check_alone(op)
            self._valid.add(likeness)

    def _check_is_visible(self, value: SSAValue, user: Operation) -> None:
        """The value is defined before its use, in the block of the user or in one around it."""
        home = value.block if isinstance(value, BlockArgument) else value.owner.parent
        if home is user.parent and (not isinstance(value, OpResult) or id(value.op) in self._seen):
            return
        around: Operation | None = user
        while around is not None and around.parent is not home:
            block = around.parent
            if block is not None and isinstance(home, Block) and block.parent is home.parent and block is not home:
                return  # another block of one region: no op of ours branches
            around = around.parent_op()
            if around is not None and around.has_trait(IsolatedFromAbove, value_if_unregistered=False):
                raise _failure(user, "SDY-D004", f"{user.name} uses a value from outside {around.name}")
        if around is None:
            raise _failure(user, "SDY-D003", f"{user.name} uses a value that is not defined around it")
        if isinstance(value, OpResult) and id(value.op) not in self._seen:
            raise _failure(user, "SDY-D003", f"{user.name} uses a value before {value.op.name} defines it")


def _check_alone(op: Operation) -> None:
    """What can be said of an op without looking at others."""
    if isinstance(op, UnregisteredOp):
        return
    try:
        if type(op) in OWN_SYNTAX:
            _structure_of(type(op)).verify(op)
        else:
            op.verify_()
    except VerifyException as error:
        raise _failure(op, "SDY-D001", f"{op.name}: {error}") from None
    if isinstance(op, FuncOp):
        check_function(op)
    elif isinstance(op, ReturnOp):
        check_return(op)


@cache
def _structure_of(op_class: type[Operation]) -> OpDef:
    """What xDSL knows of an op's operands, results, regions and properties, but not what it checks of ops inside."""
    definition = cast("type[IRDLOperation]", op_class).get_irdl_definition()
    return replace(definition, traits=OpTraits(lambda: ()))


def _check_end(block: Block, parent: Operation) -> None:
    if parent.has_trait(NoTerminator, value_if_unregistered=True):
        return
    last = block.last_op
    if last is None or not last.has_trait(IsTerminator, value_if_unregistered=True):
        ends = "is empty" if last is None else f"ends in {last.name}"
        raise _failure(last or parent, "SDY-D002", f"a region of {parent.name} {ends}, not in a return")


def _failure(op: Operation, code: str, message: str) -> SdyError:
    return SdyError(Diagnostic(code, message, span_of(op)))
