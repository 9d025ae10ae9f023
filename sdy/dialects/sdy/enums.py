"""Enums that `sdy` ops store as 32-bit integers, and their custom directives in the syntax of these ops.

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
    """The directions in which shardings may be propagated through a propagation barrier.

    Source: docs/spec/01, 1.4.13.
    """

    NONE = "NONE"
    FORWARD = "FORWARD"
    BACKWARD = "BACKWARD"
    BOTH = "BOTH"


@irdl_custom_directive
class ReductionKindDirective(CustomDirective):
    """The syntax of a reduction kind: `max`; omitted for the sum."""

    kind: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.kind.set(state, enum_attr(_parse_optional_member(parser, ReductionKind) or ReductionKind.SUM))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        kind = _value_of(self.kind, op, ReductionKind)
        if kind is not ReductionKind.SUM:
            state.print_whitespace(printer)
            printer.print_string(kind.value)


@irdl_custom_directive
class BarrierDirectionDirective(CustomDirective):
    """The syntax of a barrier direction: `FORWARD`."""

    direction: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        direction = _parse_optional_member(parser, BarrierDirection)
        if direction is None:
            parser.raise_error("expected one of NONE, FORWARD, BACKWARD, BOTH")
        self.direction.set(state, enum_attr(direction))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        printer.print_string(_value_of(self.direction, op, BarrierDirection).value)


def _parse_optional_member(parser: Parser, enum: type[EnumT]) -> EnumT | None:
    """Parse a member of the enum, bare or quoted; return None if the next token is not a keyword."""
    start = parser.pos
    keyword = parser.parse_optional_identifier_or_str_literal()
    if keyword is None:
        return None
    keywords: list[str] = [member.value for member in enum]
    if keyword not in keywords:
        message = f"expected one of {', '.join(keywords)}, got {keyword}"
        parser.raise_error(message, start, start + len(keyword))
    return enum(keyword)


def _value_of(variable: AttributeVariable, op: IRDLOperation, enum: type[EnumT]) -> EnumT:
    attr = variable.get(op)
    value = enum_value(cast(IntegerAttr, attr), enum) if isinstance(attr, IntegerAttr) else None
    assert value is not None  # the op was verified before printing
    return value


DIRECTIVES: dict[str, type[CustomDirective]] = {
    each.__name__: each for each in (ReductionKindDirective, BarrierDirectionDirective)
}


def enum_attr(value: Enum) -> IntegerAttr:
    """Return the index of the member in its enum, as the integer attribute of the generic syntax."""
    return IntegerAttr(list(type(value)).index(value), i32)


def enum_value(attr: IntegerAttr, enum: type[EnumT]) -> EnumT | None:
    """Return the member of the enum with this index, or None if there is none."""
    members = list(enum)
    return members[attr.value.data] if 0 <= attr.value.data < len(members) else None
