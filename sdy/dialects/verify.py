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
from sdy.dialects.sdy.verify import verify_sdy
from sdy.dialects.stablehlo.base import StablehloOp
from sdy.dialects.stablehlo.calls import CompositeOp


def verify_module(module: ModuleOp) -> None:
    """Verify a module with all that is in it.

    Raises: SdyError with the first problem, at the op that has it.
    """
    _Verification().check(module)
    for op in module.walk():
        if isinstance(op, CallOp):
            check_call(op)
        elif isinstance(op, CompositeOp):
            check_composite(op)
    verify_sdy(module)


# What an op without regions is judged by: its class, and the identities of all its types and properties.
_Likeness = tuple[type[Operation], tuple[int, ...], tuple[int, ...], tuple[tuple[str, int], ...]]


class _Verification:
    """One walk over ops in their order; it knows which ops it has seen, and which kinds of op it has found valid."""

    def __init__(self) -> None:
        self._seen: set[Operation] = set()
        self._valid: set[_Likeness] = set()

    def check(self, op: Operation) -> None:
        """Check `op`, then all that is in it."""
        for operand in op.operands:
            self._check_is_visible(operand, op)
        blocks = [block for region in op.regions for block in region.blocks]
        for block in blocks:
            _check_end(block, op)
        if op.regions or not isinstance(op, StablehloOp):
            _check_alone(op)
        else:
            self._check_like_others(op)
        for block in blocks:
            for inner in block.ops:
                self.check(inner)
        self._seen.add(op)

    def _check_like_others(self, op: StablehloOp) -> None:
        """Equal ops are equally valid; the objects that stand for types and properties live as long as the module."""
        likeness = (
            type(op),
            tuple([id(operand.type) for operand in op.operands]),
            tuple([id(result.type) for result in op.results]),
            tuple([(name, id(value)) for name, value in op.properties.items()]),
        )
        if likeness not in self._valid:
            _check_alone(op)
            self._valid.add(likeness)

    def _check_is_visible(self, value: SSAValue, user: Operation) -> None:
        """The value is defined before its use, in the block of the user or in one around it."""
        home = value.block if isinstance(value, BlockArgument) else value.owner.parent
        if home is user.parent and (not isinstance(value, OpResult) or value.op in self._seen):
            return  # nearly always
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
        if isinstance(value, OpResult) and value.op not in self._seen:
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
