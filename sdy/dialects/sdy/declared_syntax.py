"""The base class of ops of the `sdy` dialect whose syntax is declared in the format language of xDSL."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import ClassVar, Self

from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.parser import Parser
from xdsl.printer import Printer


class DeclaredSyntaxOp(IRDLOperation):
    """An op whose `SYNTAX` is what xDSL calls an `assembly_format`, with the directives of `enum_directives`.

    It is read when such an op is first parsed or printed. xDSL would read the formats of all ops when they are
    declared, which takes four times as long as declaring them.
    """

    SYNTAX: ClassVar[str]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return _program(cls).parse(parser, cls)

    def print(self, printer: Printer) -> None:
        _program(type(self)).print(printer, self)


@cache
def _program(op_class: type[DeclaredSyntaxOp]) -> FormatProgram:
    definition = op_class.get_irdl_definition()
    if "custom<" in op_class.SYNTAX:
        from sdy.dialects.sdy.enums import DIRECTIVES

        definition = replace(definition, custom_directives=DIRECTIVES)
    return FormatProgram.from_str(op_class.SYNTAX, definition)
