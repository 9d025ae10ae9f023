"""The syntax that nearly every StableHLO op shares: `op operands, clauses attributes : types`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from sdy.dialects.stablehlo.syntax.clauses import Clause, PropertyDict
from sdy.dialects.stablehlo.syntax.type_signatures import FUNCTIONAL, TypeSignature

OpT = TypeVar("OpT", bound=IRDLOperation)


@dataclass(frozen=True)
class Form:
    """Operands and clauses, separated by commas, then attributes, then types.

    `lead` stands before the operands, `clauses` after them, in this order. Properties that no clause writes stand
    in the attribute dictionary.
    """

    clauses: tuple[Clause, ...] = ()
    signature: TypeSignature = FUNCTIONAL
    lead: Clause | None = None
    leaves_room: bool = False  # the blank before the operands stands also where there is none

    def parse(self, op_class: type[OpT], parser: Parser) -> OpT:
        """The op whose name has just been read."""
        properties: PropertyDict = {}
        operands = self._parse_items(parser, properties)
        attributes = parse_attributes(op_class, parser, properties)
        parser.parse_punctuation(":")
        position = parser.pos
        operand_types, result_types = self.signature.parse(parser, len(operands))
        return op_class.create(
            operands=parser.resolve_operands(operands, operand_types, position),
            result_types=result_types,
            properties=properties,
            attributes=attributes,
        )

    def print(self, op: IRDLOperation, printer: Printer) -> None:
        """What `parse` reads."""
        separator = " "
        if self.lead is not None:
            printer.print_string(f" {self.lead.text(op)}")
            separator = ", "
        if self.leaves_room and not op.operands:
            printer.print_string(" ")
        for operand in op.operands:
            printer.print_string(separator)
            printer.print_ssa_value(operand)
            separator = ", "
        for clause in self.clauses:
            if (text := clause.text(op)) is not None:
                printer.print_string(f"{separator if clause.starts_after_comma else ' '}{text}")
                separator = ", "
        print_attributes(op, printer, self.written_properties)
        printer.print_string(" : ")
        self.signature.print(op, printer)

    @property
    def written_properties(self) -> frozenset[str]:
        """The properties that clauses write."""
        clauses = self.clauses if self.lead is None else (self.lead, *self.clauses)
        return frozenset(name for clause in clauses for name in clause.properties)

    def _parse_items(self, parser: Parser, properties: PropertyDict) -> list[UnresolvedOperand]:
        operands: list[UnresolvedOperand] = []
        is_open = True  # whether another item may stand here
        if self.lead is not None:
            is_open = self.lead.parse(parser, properties) and parser.parse_optional_punctuation(",") is not None
        while is_open and (operand := parser.parse_optional_unresolved_operand()) is not None:
            operands.append(operand)
            is_open = parser.parse_optional_punctuation(",") is not None
        for clause in self.clauses:
            if is_open == clause.starts_after_comma and clause.parse(parser, properties):
                is_open = parser.parse_optional_punctuation(",") is not None
            elif not clause.is_optional:
                parser.raise_error(
                    f"expected {', ' if clause.starts_after_comma and not is_open else ''}{clause.start}"
                )
        if is_open and (operands or properties):
            parser.raise_error("nothing belongs after this comma")
        return operands


def parse_attributes(op_class: type[IRDLOperation], parser: Parser, properties: PropertyDict) -> dict[str, Attribute]:
    """The attribute dictionary, if there is one; entries that the op declares go to `properties`."""
    attributes = parser.parse_optional_attr_dict()
    declared = op_class.get_irdl_definition().properties
    for name in [name for name in attributes if name in declared]:
        properties[name] = attributes.pop(name)
    return attributes


def print_attributes(op: IRDLOperation, printer: Printer, written: frozenset[str], keyword: bool = False) -> None:
    """Discardable attributes, and the properties that differ from their default and are not `written` elsewhere.

    `keyword` puts the word `attributes` before them.
    """
    if not op.attributes and written.issuperset(op.properties):
        return
    declared = op.get_irdl_definition().properties
    printed = {
        name: value
        for name, value in op.properties.items()
        if name not in written and name in declared and value != declared[name].default_value
    }
    printer.print_op_attributes({**printed, **op.attributes}, print_keyword=keyword)
