"""Verification of a module: each op, the order of definitions and uses, functions and calls, and shardings."""

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
    """Verify a module and all ops in it.

    Raises: SdyError for the first problem, at the op that has it.
    """
    verification = _Verification()
    verification.check(module)
    for op in verification.callers:
        if isinstance(op, CallOp):
            check_call(op)
        else:
            check_composite(op)
    verify_sdy(module)


# Two of these ops with the same class, types and properties are equally valid.
_VERIFIED_BY_SIGNATURE = frozenset[type[Operation]]((*STABLEHLO.operations, ConstantOp))
_CALL_OPS = frozenset[type[Operation]]((CallOp, CompositeOp))


class _Verification:
    """One walk over ops in program order. Remembers which values are defined and which signatures are valid."""

    def __init__(self) -> None:
        # From the id of a block to the ids of the results of its ops visited so far.
        self._defined: dict[int, set[int]] = {}
        # Signatures of ops found valid: class, ids of types and properties, and the signatures of the regions.
        self._valid_signatures: set[tuple[type[Operation] | str | int, ...]] = set()
        self.callers: list[CallOp | CompositeOp] = []

    def check(self, op: Operation) -> None:
        """Verify `op` and all ops inside it, except for the order of definition and use of its operands."""
        blocks = blocks_of(op) if op.regions else ()
        for block in blocks:
            _check_terminator(block, op)
        if type(op) in _VERIFIED_BY_SIGNATURE:
            self._check_by_signature(op)
        else:
            _check_alone(op)
        for block in blocks:
            self._check_block(block)
        if type(op) in _CALL_OPS:
            self.callers.append(cast("CallOp | CompositeOp", op))

    def _check_block(self, block: Block) -> None:
        defined = self._defined[id(block)] = set[int]()
        last = block.last_op
        for op in ops_in(block):
            if op is not last and _is_terminator(type(op)):
                raise _failure(op, "SDY-D002", f"{op.name} must be the last op of its block")
            operands = operands_of(op)
            if not defined.issuperset(map(id, operands)):
                for operand in operands:
                    self._check_is_visible(operand, op)
            self.check(op)
            defined.update(map(id, op.results))

    def _check_by_signature(self, op: Operation) -> None:
        """Verify `op` unless an op with the same signature was valid. Types and properties outlive the walk."""
        operands, properties = operands_of(op), op.properties
        types = (*map(id, map(type_of, operands)), *map(id, map(type_of, op.results)))
        signature = (type(op), len(operands), *types, *properties, *map(id, properties.values()))
        if op.regions:
            signature += _region_signatures(op)
        if signature not in self._valid_signatures:
            _check_alone(op)
            self._valid_signatures.add(signature)

    def _check_is_visible(self, value: SSAValue, user: Operation) -> None:
        """Check that the value is defined before its use, in the block of the user or an enclosing one."""
        defining_block = value.block if isinstance(value, BlockArgument) else cast(OpResult, value).op.parent
        if defining_block is user.parent and self._is_defined(value, defining_block):
            return
        enclosing: Operation | None = user
        while enclosing is not None and enclosing.parent is not defining_block:
            block = enclosing.parent
            if (
                block is not None
                and isinstance(defining_block, Block)
                and block.parent is defining_block.parent
                and block is not defining_block
            ):
                return  # another block of the same region: dominance between blocks is not verified
            enclosing = enclosing.parent_op()
            if enclosing is not None and enclosing.has_trait(IsolatedFromAbove, value_if_unregistered=False):
                raise _failure(
                    user,
                    "SDY-D004",
                    f"{user.name} uses a value defined outside of {enclosing.name}, which is isolated from above",
                )
        if enclosing is None:
            raise _failure(user, "SDY-D003", f"{user.name} uses a value that is not visible to it")
        if isinstance(value, OpResult) and not self._is_defined(value, defining_block):
            raise _failure(user, "SDY-D003", f"{user.name} uses a value before it is defined by {value.op.name}")

    def _is_defined(self, value: SSAValue, defining_block: Block | None) -> bool:
        return not isinstance(value, OpResult) or id(value) in self._defined.get(id(defining_block), ())


def _region_signatures(op: Operation) -> tuple[int, ...]:
    """Return the number of blocks per region, and per block the types of its arguments and terminator operands."""
    signatures: list[int] = []
    for region in op.regions:
        blocks = list(region.blocks)
        signatures.append(len(blocks))
        for block in blocks:
            returned = () if block.last_op is None else operands_of(block.last_op)
            signatures += (len(block.args), len(returned), *map(id, map(type_of, (*block.args, *returned))))
    return tuple(signatures)


def _check_alone(op: Operation) -> None:
    """Verify an op independently of other ops."""
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
    """Return xDSL's definition of an op class without traits, which would verify the ops inside as well."""
    definition = cast("type[IRDLOperation]", op_class).get_irdl_definition()
    return replace(definition, traits=OpTraits(lambda: ()))


@cache
def _is_terminator(op_class: type[Operation]) -> bool:
    return op_class.has_trait(IsTerminator, value_if_unregistered=False)


def _check_terminator(block: Block, parent: Operation) -> None:
    if parent.has_trait(NoTerminator, value_if_unregistered=True):
        return
    last = block.last_op
    if last is None or not last.has_trait(IsTerminator, value_if_unregistered=True):
        actual = "an empty block" if last is None else last.name
        raise _failure(last or parent, "SDY-D002", f"expected a terminator at the end of {parent.name}, got {actual}")


def _failure(op: Operation, code: str, message: str) -> SdyError:
    return SdyError(Diagnostic(code, message, span_of(op)))
