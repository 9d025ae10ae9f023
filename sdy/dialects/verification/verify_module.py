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
from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.ir.op_location import span_of
from sdy.dialects.ir.walk import blocks_of, ops_in
from sdy.dialects.sdy.ops import ConstantOp
from sdy.dialects.stablehlo.calls import CompositeOp
from sdy.dialects.stablehlo.dialect import STABLEHLO
from sdy.dialects.text.func_syntax import CUSTOM_SYNTAX
from sdy.dialects.verification.function_types import check_call, check_composite, check_function, check_return
from sdy.dialects.verification.sdy_shardings import verify_sdy


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
_CALLERS = frozenset[type[Operation]]((CallOp, CompositeOp))


class _Verification:
    """One walk over ops in their order; it knows what is defined so far, and which kinds of op it has found valid."""

    def __init__(self) -> None:
        # By identity of a block: the results, by identity too, of its ops so far.
        self._defined: dict[int, set[int]] = {}
        # What an op is judged by: its class, the identities of its types and properties, the borders of its regions.
        self._valid: set[tuple[type[Operation] | str | int, ...]] = set()
        self.callers: list[CallOp | CompositeOp] = []

    def check(self, op: Operation) -> None:
        """Check `op`, all that is in it included, but not what it uses."""
        blocks = blocks_of(op) if op.regions else ()
        for block in blocks:
            _check_end(block, op)
        if type(op) in _JUDGED_BY_TYPE:
            self._check_like_others(op)
        else:
            _check_alone(op)
        for block in blocks:
            self._check_block(block)
        if type(op) in _CALLERS:
            self.callers.append(cast("CallOp | CompositeOp", op))

    def _check_block(self, block: Block) -> None:
        defined = self._defined[id(block)] = set[int]()
        for op in ops_in(block):
            operands = operands_of(op)
            if not defined.issuperset(map(id, operands)):
                for operand in operands:
                    self._check_is_visible(operand, op)
            self.check(op)
            defined.update(map(id, op.results))

    def _check_like_others(self, op: Operation) -> None:
        """Equal ops are equally valid; the objects that stand for types and properties live as long as the module."""
        operands, properties = operands_of(op), op.properties
        types = (*map(id, map(type_of, operands)), *map(id, map(type_of, op.results)))
        likeness = (type(op), len(operands), *types, *properties, *map(id, properties.values()))
        if op.regions:
            likeness += _borders(op)
        if likeness not in self._valid:
            _check_alone(op)
            self._valid.add(likeness)

    def _check_is_visible(self, value: SSAValue, user: Operation) -> None:
        """The value is defined before its use, in the block of the user or in one around it."""
        home = value.block if isinstance(value, BlockArgument) else cast(OpResult, value).op.parent
        if home is user.parent and self._is_defined(value, home):
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
        if isinstance(value, OpResult) and not self._is_defined(value, home):
            raise _failure(user, "SDY-D003", f"{user.name} uses a value before {value.op.name} defines it")

    def _is_defined(self, value: SSAValue, home: Block | None) -> bool:
        return not isinstance(value, OpResult) or id(value) in self._defined.get(id(home), ())


def _borders(op: Operation) -> tuple[int, ...]:
    """What an op may ask of its regions: the types that their blocks take, and what these give in the end."""
    borders: list[int] = []
    for region in op.regions:
        blocks = list(region.blocks)
        borders.append(len(blocks))
        for block in blocks:
            given = () if block.last_op is None else operands_of(block.last_op)
            borders += (len(block.args), len(given), *map(id, map(type_of, (*block.args, *given))))
    return tuple(borders)


def _check_alone(op: Operation) -> None:
    """What can be said of an op without looking at others."""
    if isinstance(op, UnregisteredOp):
        return
    try:
        if type(op) in CUSTOM_SYNTAX:
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
