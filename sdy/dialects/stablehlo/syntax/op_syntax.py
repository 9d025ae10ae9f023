"""The syntax that most StableHLO ops share: `op operands, clauses attributes : types`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from sdy.dialects.stablehlo.syntax.clauses import Clause, PropertyDict
from sdy.dialects.stablehlo.syntax.type_signatures import FUNCTIONAL, TypeSignature

OpT = TypeVar("OpT", bound=IRDLOperation)


class Form(NamedTuple):
    """The syntax of an op: operands and clauses, separated by commas, then attributes, then types.

    `lead` is printed before the operands and `clauses` after them, in this order. Properties that no clause represents
    are
    printed in the attribute dictionary.
    """

    clauses: tuple[Clause, ...] = ()
    signature: TypeSignature = FUNCTIONAL
    lead: Clause | None = None
    prints_blank_without_operands: bool = False  # print the blank before the operands even if there are none

    def parse(self, op_class: type[OpT], parser: Parser) -> OpT:
        """Parse the rest of an op after its name."""
        properties: PropertyDict = {}
        operands = self._parse_items(parser, properties)
        return parse_rest(op_class, parser, operands, properties, self.signature)

    def print(self, op: IRDLOperation, printer: Printer) -> None:
        """Print the op as `parse` parses it."""
        separator = " "
        if self.lead is not None:
            printer.print_string(f" {self.lead.text(op)}")
            separator = ", "
        if self.prints_blank_without_operands and not op.operands:
            printer.print_string(" ")
        for operand in op.operands:
            printer.print_string(separator)
            printer.print_ssa_value(operand)
            separator = ", "
        for clause in self.clauses:
            if (text := clause.text(op)) is not None:
                printer.print_string(f"{separator if clause.starts_after_comma else ' '}{text}")
                separator = ", "
        print_rest(op, printer, self.written_properties, self.signature)

    @property
    def written_properties(self) -> frozenset[str]:
        """The properties that clauses represent."""
        clauses = self.clauses if self.lead is None else (self.lead, *self.clauses)
        return frozenset(name for clause in clauses for name in clause.properties)

    def _parse_items(self, parser: Parser, properties: PropertyDict) -> list[UnresolvedOperand]:
        operands: list[UnresolvedOperand] = []
        expects_item = True  # whether another operand or clause may follow
        if self.lead is not None:
            expects_item = self.lead.parse(parser, properties) and parser.parse_optional_punctuation(",") is not None
        while expects_item and (operand := parser.parse_optional_unresolved_operand()) is not None:
            operands.append(operand)
            expects_item = parser.parse_optional_punctuation(",") is not None
        for clause in self.clauses:
            if expects_item == clause.starts_after_comma and clause.parse(parser, properties):
                expects_item = parser.parse_optional_punctuation(",") is not None
            elif not clause.is_optional:
                parser.raise_error(
                    f"expected {', ' if clause.starts_after_comma and not expects_item else ''}{clause.start}"
                )
        if expects_item and (operands or properties):
            parser.raise_error("expected an operand or a clause after the comma")
        return operands


def parse_rest(
    op_class: type[OpT],
    parser: Parser,
    operands: Sequence[UnresolvedOperand],
    properties: PropertyDict,
    signature: TypeSignature = FUNCTIONAL,
) -> OpT:
    """Parse the attributes and the types of an op, and return the op."""
    attributes = parse_attributes(op_class, parser, properties)
    parser.parse_punctuation(":")
    position = parser.pos
    operand_types, result_types = signature.parse(parser, len(operands))
    return op_class.create(
        operands=parser.resolve_operands(operands, operand_types, position),
        result_types=result_types,
        properties=properties,
        attributes=attributes,
    )


def print_rest(
    op: IRDLOperation, printer: Printer, excluded: frozenset[str], signature: TypeSignature = FUNCTIONAL
) -> None:
    """Print what `parse_rest` parses, without the properties in `excluded`, which the text before it has."""
    print_attributes(op, printer, excluded)
    printer.print_string(" : ")
    signature.print(op, printer)


def parse_attributes(op_class: type[IRDLOperation], parser: Parser, properties: PropertyDict) -> dict[str, Attribute]:
    """Parse an optional attribute dictionary; entries that the op declares as properties are moved to `properties`."""
    attributes = parser.parse_optional_attr_dict()
    declared = op_class.get_irdl_definition().properties
    for name in [name for name in attributes if name in declared]:
        properties[name] = attributes.pop(name)
    return attributes


def print_attributes(op: IRDLOperation, printer: Printer, excluded: frozenset[str], keyword: bool = False) -> None:
    """Print the attributes, and the properties that differ from their default and are not in `excluded`.

    If `keyword`, print the keyword `attributes` before them.
    """
    if not op.attributes and excluded.issuperset(op.properties):
        return
    declared = op.get_irdl_definition().properties
    printed = {
        name: value
        for name, value in op.properties.items()
        if name not in excluded and name in declared and value != declared[name].default_value
    }
    printer.print_op_attributes({**printed, **op.attributes}, print_keyword=keyword)


def parse_explicit_constant(op_class: type[OpT], parser: Parser) -> OpT:
    """Parse the rest of `() <{value = ...}> : () -> T`, the form for a result whose type is not that of the value.

    The value may be in the attribute dictionary instead.
    """
    parser.parse_punctuation(")")
    properties = parser.parse_optional_properties_dict()
    attributes = parse_attributes(op_class, parser, properties)
    parser.parse_punctuation(":")
    results = parser.parse_function_type().outputs.data
    return op_class.create(result_types=results, properties=properties, attributes=attributes)
