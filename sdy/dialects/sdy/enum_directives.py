"""Words in the syntax of `sdy` ops that stand for 32-bit integers: kinds of reduction, directions of propagation.

Source: docs/spec/01, 1.4.13.
"""

from enum import Enum
from typing import TypeVar, cast

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from sdy.model.sharding import ReductionKind

EnumT = TypeVar("EnumT", bound=Enum)


class BarrierDirection(Enum):
    """In which directions shardings may pass a propagation barrier."""

    NONE = "NONE"
    FORWARD = "FORWARD"
    BACKWARD = "BACKWARD"
    BOTH = "BOTH"


def enum_attr(value: Enum) -> IntegerAttr:
    """The member of an enum as the integer that generic syntax shows: its place in the enum."""
    return IntegerAttr(list(type(value)).index(value), i32)


def enum_value(attr: IntegerAttr, enum: type[EnumT]) -> EnumT | None:
    """The member that an integer stands for, if any."""
    members = list(enum)
    return members[attr.value.data] if 0 <= attr.value.data < len(members) else None


@irdl_custom_directive
class ReductionKindDirective(CustomDirective):
    """`max`, or nothing for the sum."""

    kind: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.kind.set(state, enum_attr(_parse_optional_word(parser, ReductionKind) or ReductionKind.SUM))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        kind = _value_of(self.kind, op, ReductionKind)
        if kind is not ReductionKind.SUM:
            state.print_whitespace(printer)
            printer.print_string(kind.value)


@irdl_custom_directive
class BarrierDirectionDirective(CustomDirective):
    """`FORWARD`"""

    direction: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        direction = _parse_optional_word(parser, BarrierDirection)
        if direction is None:
            parser.raise_error("expected NONE, FORWARD, BACKWARD or BOTH")
        self.direction.set(state, enum_attr(direction))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_string(_value_of(self.direction, op, BarrierDirection).value)


def _parse_optional_word(parser: Parser, enum: type[EnumT]) -> EnumT | None:
    """The word, bare or quoted, of a member of the enum; None where no word stands here."""
    start = parser.pos
    word = parser.parse_optional_identifier_or_str_literal()
    if word is None:
        return None
    words: list[str] = [member.value for member in enum]
    if word not in words:
        parser.raise_error(f"unknown word {word}: expected {', '.join(words)}", start, start + len(word))
    return enum(word)


def _value_of(variable: AttributeVariable, op: IRDLOperation, enum: type[EnumT]) -> EnumT:
    attr = variable.get(op)
    value = enum_value(cast(IntegerAttr, attr), enum) if isinstance(attr, IntegerAttr) else None
    assert value is not None  # verified before it is printed
    return value
