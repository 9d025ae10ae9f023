"""Verification of an op independently of other ops, once per signature."""

# pyright: reportPrivateUsage=false
# The types of values are read from private fields, as links are in `sdy.dialects.ir.walk`: properties are slow.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ArrayOfConstraint, SymbolNameConstraint, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, OpTraits
from xdsl.irdl import BaseAttr, IRDLOperation, OpDef, RangeOf
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from sdy.diagnostics.user_code import is_code_of_user
from sdy.dialects.facts.traits import is_terminator
from sdy.dialects.ir.fast_ops import operands_of, type_of
from sdy.dialects.ir.op_location import error_at, user_code_error_at
from sdy.dialects.sdy.dialect import SDY
from sdy.dialects.sdy.ops import DataFlowEdgeOp, ReshardOp, ShardingConstraintOp
from sdy.dialects.sdy.regions import ComputationOp, NamedComputationOp
from sdy.dialects.stablehlo.base import StablehloOp
from sdy.dialects.stablehlo.families import DIALECT
from sdy.dialects.text.func_syntax import CUSTOM_SYNTAX
from sdy.dialects.verification.function_types import check_function, check_return

# Passes change names and shardings in the properties of these ops, with which xDSL's verification has nothing to do.
_OFTEN_CHANGED = frozenset[type[Operation]](
    (FuncOp, NamedComputationOp, DataFlowEdgeOp, ReshardOp, ShardingConstraintOp)
)


@cache
def is_verified_by_signature(op_class: type[Operation]) -> bool:
    """Return whether two ops of the class with the same signature are equally valid, except for `check_in_function`."""
    is_stablehlo = StablehloOp in op_class.__mro__ and op_class.name.startswith(f"{DIALECT}.")
    # The verification of computations also walks over the ops inside, because they are isolated from above.
    is_sdy = op_class in SDY.operations and not issubclass(op_class, ComputationOp)
    return is_stablehlo or is_sdy or issubclass(op_class, FuncOp | CallOp | ReturnOp)


class OpChecks:
    """Verifies ops one by one. Remembers the signatures of valid ops: class, types, properties, types in regions.

    `numbers` has the number of its signature for each op, by id, since the op was last verified by its signature.
    """

    def __init__(self) -> None:
        self._valid: dict[tuple[object, ...], int] = {}  # to the number of the signature, from 1
        # The objects whose ids are in a signature are kept alive, so that no other object gets their ids.
        self._parts: list[tuple[object, ...]] = []
        self.numbers: dict[int, int] = {}

    def __reduce__(self) -> tuple[type[OpChecks], tuple[()]]:
        """Remember nothing in another process, where ids are of other objects."""
        return OpChecks, ()

    def check(self, op: Operation) -> None:
        """Verify `op`, without the ops inside. Raises: SdyError."""
        if is_verified_by_signature(type(op)):
            self.check_by_signature(op)
        else:
            self.check_alone(op)
        check_in_function(op)

    def check_alone(self, op: Operation) -> None:
        """Verify `op` independently of other ops and of earlier verifications. Raises: SdyError."""
        self.numbers.pop(id(op), None)  # of another op, which does not exist any more
        check_alone(op)

    def check_by_signature(self, op: Operation) -> None:
        """Verify `op` unless an op with the same signature was valid. Raises: SdyError."""
        # Loops are faster here than `map` and unpacking, because most ops have few properties, operands and results.
        signature: list[object] = [type(op), len(operands_of(op))]
        if type(op) in _OFTEN_CHANGED:
            signature += _what_matters(type(op), op.properties)
        else:
            for name, attr in op.properties.items():
                signature.append(name)
                signature.append(id(attr))
        for operand in operands_of(op):
            signature.append(id(operand._type))
        for result in op.results:
            signature.append(id(result._type))
        inner: tuple[Attribute, ...] = ()
        if op.regions:
            counts, inner = _region_signatures(op)
            signature += (*counts, *map(id, inner))
        key = tuple(signature)
        number = self._valid.get(key)
        if number is None:
            check_alone(op)
            number = self._valid[key] = len(self._valid) + 1
            self._parts.append((*op.properties.values(), *op.operand_types, *op.result_types, *inner))
        self.numbers[id(op)] = number


def _what_matters(op_class: type[Operation], properties: Mapping[str, Attribute]) -> list[object]:
    """Return the name of each property and what its declaration depends on: its class, or its id."""
    by_class, by_elements = _declared_by_class(op_class)
    parts: list[object] = []
    for name, attr in properties.items():
        parts.append(name)
        if name in by_class:
            parts.append(type(attr))
        elif name in by_elements and type(attr) is ArrayAttr:
            parts.append(frozenset(map(type, attr.data)))
        else:
            parts.append(id(attr))
    return parts


@cache
def _declared_by_class(op_class: type[Operation]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the properties that are declared to be of a class, and those declared as an array of such attributes."""
    by_class: set[str] = set()
    by_elements: set[str] = set()
    for name, declared in cast("type[IRDLOperation]", op_class).get_irdl_definition().properties.items():
        match declared.constr:
            case BaseAttr() | SymbolNameConstraint():
                by_class.add(name)
            case ArrayOfConstraint(elem_range_constraint=RangeOf(constr=BaseAttr())):
                by_elements.add(name)
            case _:
                pass
    return frozenset(by_class), frozenset(by_elements)


def _region_signatures(op: Operation) -> tuple[tuple[int, ...], tuple[Attribute, ...]]:
    """Return the numbers of blocks, their arguments and terminator operands; and the types of these values."""
    counts: list[int] = []
    types: list[Attribute] = []
    for region in op.regions:
        blocks = list(region.blocks)
        counts.append(len(blocks))
        for block in blocks:
            returned = () if block.last_op is None else operands_of(block.last_op)
            counts += (len(block.args), len(returned))
            types += map(type_of, (*block.args, *returned))
    return tuple(counts), tuple(types)


def check_alone(op: Operation) -> None:
    """Verify an op independently of other ops. Raises: SdyError."""
    if isinstance(op, UnregisteredOp):
        return
    try:
        if type(op) in CUSTOM_SYNTAX:
            _structure_of(type(op)).verify(op)
        else:
            op.verify_()
    except VerifyException as error:
        from sdy.dialects.verification.declaration_messages import explain_mismatch  # only errors need it

        message, hint = explain_mismatch(op, error)
        raise error_at(op, "SDY-D001", f"{op.name}: {message}", hint) from None
    except Exception as error:  # the code of the user may raise anything
        if not is_code_of_user(type(op)):
            raise
        hint = "raise VerifyException for an invalid op"
        raise user_code_error_at(op, "SDY-D005", f"verify_ of {op.name}", error, hint) from error


def check_in_function(op: Operation) -> None:
    """Verify that a function, its body and its return fit together; `op` is any op. Raises: SdyError."""
    if type(op) is FuncOp:
        check_function(op)
    elif type(op) is ReturnOp:
        check_return(op)


@cache
def _structure_of(op_class: type[Operation]) -> OpDef:
    """Return xDSL's definition of an op class without traits, which would verify the ops inside as well."""
    definition = cast("type[IRDLOperation]", op_class).get_irdl_definition()
    return replace(definition, traits=OpTraits(lambda: ()))


def check_is_last(op: Operation) -> None:
    """Check that `op`, which is not the last op of its block, is not a terminator. Raises: SdyError SDY-D002."""
    if is_terminator(op):
        raise error_at(op, "SDY-D002", f"{op.name} must be the last op of its block")


def check_terminator(block: Block, parent: Operation) -> None:
    """Check that a block of `parent` ends with a terminator. Raises: SdyError SDY-D002."""
    if parent.has_trait(NoTerminator, value_if_unregistered=True):
        return
    last = block.last_op
    if last is None or not last.has_trait(IsTerminator, value_if_unregistered=True):
        actual = "an empty block" if last is None else last.name
        message = f"expected a terminator at the end of {parent.name}, got {actual}"
        raise error_at(last or parent, "SDY-D002", message)
