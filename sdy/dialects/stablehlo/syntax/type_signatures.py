"""How operand and result types are written after the colon of an op: in full, or abbreviated where they repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from xdsl.dialects.builtin import ComplexType, FunctionType, TensorType, TupleType
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from sdy.dialects.stablehlo.attributes.types import as_tensor

TypeLists = tuple[Sequence[Attribute], Sequence[Attribute]]


class TypeSignature(Protocol):
    """One way to write the types of operands and results."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        """The types of operands and results."""
        ...

    def print(self, op: Operation, printer: Printer) -> None:
        """Writes what `parse` reads."""
        ...


class FunctionalSignature:
    """`(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>`."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        return _types_of(parser.parse_function_type())

    def print(self, op: Operation, printer: Printer) -> None:
        printer.print_operation_type(op)


class ArrowSignature:
    """`tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>`: functional without the parentheses."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        operand_types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation("->")
        results = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        return operand_types, [parser.parse_type()] if results is None else results

    def print(self, op: Operation, printer: Printer) -> None:
        printer.print_list([operand.type for operand in op.operands], printer.print_attribute)
        printer.print_string(" -> " if len(op.results) == 1 else " -> (")
        printer.print_list([result.type for result in op.results], printer.print_attribute)
        printer.print_string("" if len(op.results) == 1 else ")")


class SameSignature:
    """One type where all operands and results share it, else functional."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        written = parser.parse_type()
        return _types_of(written) if isinstance(written, FunctionType) else ([written] * operand_count, [written])

    def print(self, op: Operation, printer: Printer) -> None:
        result_type = op.results[0].type
        if all(operand.type == result_type for operand in op.operands):
            printer.print_attribute(result_type)
        else:
            printer.print_operation_type(op)


class ResultOnlySignature:
    """The type of the only result, of an op without operands."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        return [], [parser.parse_type()]

    def print(self, op: Operation, printer: Printer) -> None:
        printer.print_attribute(op.results[0].type)


class OperandsOnlySignature:
    """The one type of all operands, of an op without results."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        return [parser.parse_type()] * operand_count, []

    def print(self, op: Operation, printer: Printer) -> None:
        printer.print_attribute(op.operands[0].type)


class EachOperandSignature:
    """The types of the operands in turn, of an op without results."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        return parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type), []

    def print(self, op: Operation, printer: Printer) -> None:
        printer.print_list([operand.type for operand in op.operands], printer.print_attribute)


class SelectSignature:
    """`pred type, result type` where both branches have the result type, else functional."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        first = parser.parse_type()
        if isinstance(first, FunctionType):
            return _types_of(first)
        parser.parse_punctuation(",")
        result = parser.parse_type()
        return [first, result, result], [result]

    def print(self, op: Operation, printer: Printer) -> None:
        result_type = op.results[0].type
        if all(operand.type == result_type for operand in op.operands[1:]):
            printer.print_list((op.operands[0].type, result_type), printer.print_attribute)
        else:
            printer.print_operation_type(op)


class ComplexSignature:
    """The complex result type where both operands hold its parts, else functional."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        start = parser.pos
        written = parser.parse_type()
        if isinstance(written, FunctionType):
            return _types_of(written)
        part = _part_type(written)
        if part is None:
            parser.raise_error(f"a tensor of complex elements belongs here, not {written}", start, parser.pos)
        return [part] * operand_count, [written]

    def print(self, op: Operation, printer: Printer) -> None:
        result_type = op.results[0].type
        if all(operand.type == _part_type(result_type) for operand in op.operands):
            printer.print_attribute(result_type)
        else:
            printer.print_operation_type(op)


class TupleSignature:
    """The tuple type of the result, which lists the types of the operands."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        start = parser.pos
        written = parser.parse_type()
        if not isinstance(written, TupleType):
            parser.raise_error(f"a tuple type belongs here, not {written}", start, parser.pos)
        return written.types.data, [written]

    def print(self, op: Operation, printer: Printer) -> None:
        printer.print_attribute(op.results[0].type)


def _types_of(function: FunctionType) -> TypeLists:
    return function.inputs.data, function.outputs.data


def _part_type(complex_tensor: Attribute) -> Attribute | None:
    """The type of the real part of a tensor of complex elements."""
    tensor = as_tensor(complex_tensor)
    if tensor is None or not isinstance(tensor.element_type, ComplexType):
        return None
    part = cast(Attribute, tensor.element_type.element_type)
    return TensorType(part, tensor.shape, tensor.encoding)


FUNCTIONAL = FunctionalSignature()
ARROW = ArrowSignature()
SAME = SameSignature()
RESULT_ONLY = ResultOnlySignature()
OPERANDS_ONLY = OperandsOnlySignature()
EACH_OPERAND = EachOperandSignature()
SELECT_TYPES = SelectSignature()
COMPLEX_TYPES = ComplexSignature()
TUPLE_TYPES = TupleSignature()
