"""Ops on tuples, tokens and futures, and the checks of those on tuples."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerAttr, TupleType, i32
from xdsl.ir import Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from sdy.dialects.ir.declared_ops import declared_ops
from sdy.dialects.stablehlo.attributes.attrs import parse_int
from sdy.dialects.stablehlo.attributes.types import TokenType
from sdy.dialects.stablehlo.base import FormattedOp, OpCheck, StablehloOp
from sdy.dialects.stablehlo.checks.requirements import fail, have_compatible_types, integer, name_of
from sdy.dialects.stablehlo.syntax.clauses import PropertyDict
from sdy.dialects.stablehlo.syntax.op_syntax import Form, parse_rest, print_rest
from sdy.dialects.stablehlo.syntax.type_signatures import RESULT_ONLY, SAME, TUPLE_TYPES


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


def check_tokens(op: Operation) -> None:
    """Check that the last result and the last operand are tokens, and all operands of an `after_all`."""
    operands = op.operands if isinstance(op, AfterAllOp) else op.operands[-1:]
    for value in (*operands, *op.results[-1:]):
        if not isinstance(value.type, TokenType):
            fail(op, "SDY-D011", f"{name_of(op, value)} must be a token")


@irdl_op_definition
class TupleOp(FormattedOp):
    """Create a tuple of the operands.

    `stablehlo.tuple %0, %1 : tuple<tensor<2xf32>, tensor<i32>>`
    """

    name = "stablehlo.tuple"
    val = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_tuple,)
    FORM: ClassVar[Form] = Form(signature=TUPLE_TYPES, prints_blank_without_operands=True)


@irdl_op_definition
class GetTupleElementOp(StablehloOp):
    """Return one element of a tuple.

    `stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>`
    """

    name = "stablehlo.get_tuple_element"
    operand = operand_def()
    index = prop_def(IntegerAttr.constr(i32))
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_get_tuple_element,)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            index = parse_int(parser)
        properties: PropertyDict = {"index": IntegerAttr(index, i32)}
        return parse_rest(cls, parser, [operand], properties)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        printer.print_string(f"[{self.index.value.data}]")
        print_rest(self, printer, frozenset(("index",)))


@irdl_op_definition
class CreateTokenOp(FormattedOp):
    """Create a token without dependencies.

    `stablehlo.create_token : !stablehlo.token`
    """

    name = "stablehlo.create_token"
    output = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_tokens,)
    FORM: ClassVar[Form] = Form(signature=RESULT_ONLY)


@irdl_op_definition
class AfterAllOp(FormattedOp):
    """Create a token that depends on all operands.

    `stablehlo.after_all %0, %1 : !stablehlo.token`
    """

    name = "stablehlo.after_all"
    inputs = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar[tuple[OpCheck, ...]] = (check_tokens,)
    FORM: ClassVar[Form] = Form(signature=SAME, prints_blank_without_operands=True)


@irdl_op_definition
class AsyncStartOp(StablehloOp):
    """Start the op in the region, and return a future of its results."""

    name = "stablehlo.async_start"
    inputs = var_operand_def()
    result = result_def()
    body = region_def("single_block")


@irdl_op_definition
class AsyncDoneOp(StablehloOp):
    """Wait for a future, and return its values."""

    name = "stablehlo.async_done"
    operand = operand_def()
    result = var_result_def()


OPS = declared_ops(__name__)
