"""The syntax of operand and result types after the colon of an op: complete, or abbreviated if they repeat."""

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
    """A syntax of the types of operands and results."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        """Parse the types; return those of the operands and those of the results."""
        ...

    def print(self, op: Operation, printer: Printer) -> None:
        """Print the types as `parse` parses them."""
        ...


class FunctionalSignature:
    """`(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>`."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        return _types_of(parser.parse_function_type())

    def print(self, op: Operation, printer: Printer) -> None:
        printer.print_operation_type(op)


class ArrowSignature:
    """`tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>`: the functional form without parentheses."""

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
    """One type if all operands and results share it, otherwise the functional form."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        parsed_type = parser.parse_type()
        return (
            _types_of(parsed_type)
            if isinstance(parsed_type, FunctionType)
            else ([parsed_type] * operand_count, [parsed_type])
        )

    def print(self, op: Operation, printer: Printer) -> None:
        result_type = op.results[0].type
        if all(operand.type == result_type for operand in op.operands):
            printer.print_attribute(result_type)
        else:
            printer.print_operation_type(op)


class ResultOnlySignature:
    """The type of the only result; for ops without operands."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        return [], [parser.parse_type()]

    def print(self, op: Operation, printer: Printer) -> None:
        printer.print_attribute(op.results[0].type)


class OperandsOnlySignature:
    """The common type of all operands; for ops without results."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        return [parser.parse_type()] * operand_count, []

    def print(self, op: Operation, printer: Printer) -> None:
        printer.print_attribute(op.operands[0].type)


class EachOperandSignature:
    """The types of all operands; for ops without results."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        return parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type), []

    def print(self, op: Operation, printer: Printer) -> None:
        printer.print_list([operand.type for operand in op.operands], printer.print_attribute)


class SelectSignature:
    """`pred type, result type` if both branches have the result type, otherwise the functional form."""

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
    """The complex result type if both operands have its real type, otherwise the functional form."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        start = parser.pos
        parsed_type = parser.parse_type()
        if isinstance(parsed_type, FunctionType):
            return _types_of(parsed_type)
        real_type = _real_tensor_type(parsed_type)
        if real_type is None:
            parser.raise_error(f"expected a tensor of complex elements, got {parsed_type}", start, parser.pos)
        return [real_type] * operand_count, [parsed_type]

    def print(self, op: Operation, printer: Printer) -> None:
        result_type = op.results[0].type
        if all(operand.type == _real_tensor_type(result_type) for operand in op.operands):
            printer.print_attribute(result_type)
        else:
            printer.print_operation_type(op)


class TupleSignature:
    """The tuple type of the result, which lists the types of the operands."""

    def parse(self, parser: Parser, operand_count: int) -> TypeLists:
        start = parser.pos
        parsed_type = parser.parse_type()
        if not isinstance(parsed_type, TupleType):
            parser.raise_error(f"expected a tuple type, got {parsed_type}", start, parser.pos)
        return parsed_type.types.data, [parsed_type]

    def print(self, op: Operation, printer: Printer) -> None:
        printer.print_attribute(op.results[0].type)


def _types_of(function: FunctionType) -> TypeLists:
    return function.inputs.data, function.outputs.data


def _real_tensor_type(complex_tensor: Attribute) -> Attribute | None:
    """Return the type of the real part of a complex tensor type, or None for other types."""
    tensor = as_tensor(complex_tensor)
    if tensor is None or not isinstance(tensor.element_type, ComplexType):
        return None
    real_type = cast(Attribute, tensor.element_type.element_type)
    return TensorType(real_type, tensor.shape, tensor.encoding)


FUNCTIONAL = FunctionalSignature()
ARROW = ArrowSignature()
SAME = SameSignature()
RESULT_ONLY = ResultOnlySignature()
OPERANDS_ONLY = OperandsOnlySignature()
EACH_OPERAND = EachOperandSignature()
SELECT_TYPES = SelectSignature()
COMPLEX_TYPES = ComplexSignature()
TUPLE_TYPES = TupleSignature()
