"""MLIR's syntax of modules and functions, which differs slightly from xDSL's syntax of these ops."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    SymbolRefAttr,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from sdy.dialects.text.attribute_printer import AttributePrinter
from sdy.dialects.text.text_parser import TextParser

OpT = TypeVar("OpT", bound=Operation)


class OpSyntax(NamedTuple):
    """The parser of an op, called after its name, and the printer."""

    parse: Callable[[Parser], Operation]
    print: Callable[[Operation, Printer], None]


class TypeWithAttributes(NamedTuple):
    """The type and attributes of a result or of an unnamed argument."""

    type: Attribute
    attributes: DictionaryAttr


NO_ATTRIBUTES = DictionaryAttr({})
# The frequent form of what follows the name of an argument: `tensor<8xf32> {sdy.sharding = #sdy.sharding<...>}`.
_TYPE_WITH_SHARDING = re.compile(r"\s*tensor<[^<>]*> \{sdy\.sharding = #sdy\.sharding<[^<>]*>\}")


def parse_module(parser: Parser) -> ModuleOp:
    """Parse `@name attributes {...} { ... }`, after the keyword `module`."""
    name = parser.parse_optional_symbol_name()
    attributes = parser.parse_optional_attr_dict_with_keyword()
    region = parser.parse_region()
    if not region.blocks:
        region.add_block(Block())
    return ModuleOp.create(
        properties={"sym_name": name} if name is not None else {},
        attributes=attributes.data if attributes is not None else {},
        regions=[region],
    )


def print_module(op: ModuleOp, printer: Printer) -> None:
    """Print a module as `parse_module` parses it."""
    if op.sym_name is not None:
        printer.print_string(" ")
        printer.print_symbol_name(op.sym_name.data)
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" ")
    printer.print_region(op.body, print_empty_block=False)


def parse_func(parser: Parser) -> FuncOp:
    """Parse `public @name(%arg0: type {...}) -> (type {...}) attributes {...} { ... }`, after `func.func`."""
    visibility = parser.parse_optional_visibility_keyword()
    name = parser.parse_symbol_name()
    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
    results = _parse_results(parser)
    attributes = parser.parse_optional_attr_dict_with_keyword(("sym_name", "function_type", "sym_visibility"))
    named = [named for named, _ in arguments if named is not None]
    if named and len(named) != len(arguments):
        parser.raise_error("either all arguments must have names, or none")
    body = parser.parse_optional_region(named) if named or not arguments else None
    if named and body is None:
        parser.raise_error("expected a body of the function, because its arguments have names")
    properties: dict[str, Attribute] = {
        "sym_name": name,
        "function_type": FunctionType.from_lists(
            [typed.type for _, typed in arguments], [result.type for result in results]
        ),
    }
    if visibility is not None:
        properties["sym_visibility"] = visibility
    for key, values in (("arg_attrs", [typed for _, typed in arguments]), ("res_attrs", results)):
        if any(value.attributes.data for value in values):
            properties[key] = ArrayAttr([value.attributes for value in values])
    return FuncOp.create(
        properties=properties,
        attributes=attributes.data if attributes is not None else {},
        regions=[body if body is not None else Region()],
    )


def _parse_argument(parser: Parser) -> tuple[Parser.Argument | None, TypeWithAttributes]:
    name = parser.parse_optional_argument(expect_type=False)
    if name is not None:
        parser.parse_punctuation(":", " after block argument name!")
    typed = _parse_typed(parser)
    location = parser.parse_optional_location()
    return None if name is None else Parser.Argument(name.name, typed.type, location), typed


def _parse_typed(parser: Parser) -> TypeWithAttributes:
    def parse() -> TypeWithAttributes:
        return TypeWithAttributes(parser.parse_type(), _parse_attributes(parser))

    return parser.parse_repeated(_TYPE_WITH_SHARDING, parse) if isinstance(parser, TextParser) else parse()


def _parse_results(parser: Parser) -> list[TypeWithAttributes]:
    if parser.parse_optional_punctuation("->") is None:
        return []
    results = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_typed(parser))
    return [TypeWithAttributes(parser.parse_type(), NO_ATTRIBUTES)] if results is None else results


def _parse_attributes(parser: Parser) -> DictionaryAttr:
    attributes = parser.parse_optional_dictionary_attr_dict()
    return DictionaryAttr(attributes) if attributes else NO_ATTRIBUTES


def print_func(op: FuncOp, printer: Printer) -> None:
    """Print a function as `parse_func` parses it."""
    if op.sym_visibility is not None:
        printer.print_string(f" {op.sym_visibility.data}")
    printer.print_string(" ")
    printer.print_symbol_name(op.sym_name.data)
    printer.print_string("(")
    arguments = op.args if not op.is_declaration else None
    for index, (value_type, attributes) in enumerate(_with_attributes(op.function_type.inputs.data, op.arg_attrs)):
        printer.print_string(", " if index else "")
        if arguments is not None:
            printer.print_ssa_value(arguments[index])
            printer.print_string(": ")
        printer.print_attribute(value_type)
        printer.print_op_attributes(attributes.data)
        if arguments is not None and isinstance(printer, AttributePrinter):
            printer.print_argument_location(arguments[index])
    printer.print_string(")")
    _print_results(op, printer)
    printer.print_op_attributes(op.attributes, print_keyword=True)
    if not op.is_declaration:
        printer.print_string(" ")
        printer.print_region(op.body, print_entry_block_args=False, print_empty_block=False)


def _print_results(op: FuncOp, printer: Printer) -> None:
    results = _with_attributes(op.function_type.outputs.data, op.res_attrs)
    if not results:
        return
    printer.print_string(" -> ")
    needs_parens = len(results) > 1 or bool(results[0][1].data) or isinstance(results[0][0], FunctionType)
    printer.print_string("(" if needs_parens else "")
    for index, (value_type, attributes) in enumerate(results):
        printer.print_string(", " if index else "")
        printer.print_attribute(value_type)
        printer.print_op_attributes(attributes.data)
    printer.print_string(")" if needs_parens else "")


def _with_attributes(
    types: Sequence[Attribute], attributes: ArrayAttr[DictionaryAttr] | None
) -> list[tuple[Attribute, DictionaryAttr]]:
    """Return each type with its attributes."""
    return list(zip(types, attributes if attributes is not None else [NO_ATTRIBUTES] * len(types), strict=True))


def parse_call(parser: Parser) -> CallOp:
    """Parse `@callee(%0) {...} : (type) -> type`, after `call`."""
    callee = parser.parse_symbol_name()
    operands = parser.parse_op_args_list()
    attributes = parser.parse_optional_attr_dict()
    return create_with_signature(CallOp, parser, operands, {"callee": SymbolRefAttr(callee)}, attributes)


def create_with_signature(
    op_class: type[OpT],
    parser: Parser,
    operands: Sequence[UnresolvedOperand],
    properties: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute],
    regions: Sequence[Region] = (),
) -> OpT:
    """Parse `: (T) -> U`, and create an op with operands and results of these types."""
    parser.parse_punctuation(":")
    position = parser.pos
    types = parser.parse_function_type()
    return op_class.create(
        operands=parser.resolve_operands(operands, types.inputs.data, position),
        result_types=types.outputs.data,
        properties=properties,
        attributes=attributes,
        regions=regions,
    )


def print_call(op: CallOp, printer: Printer) -> None:
    """Print a call as `parse_call` parses it."""
    printer.print_string(" ")
    printer.print_attribute(op.callee)
    printer.print_operands(op.operands)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_operation_type(op)


def parse_return(parser: Parser) -> ReturnOp:
    """Parse `{...} %0, %1 : type, type`, after `return`."""
    attributes = parser.parse_optional_attr_dict()
    operands = parse_optional_operands(parser)
    return ReturnOp.create(operands=parse_types_of(parser, operands), attributes=attributes)


def parse_optional_operands(parser: Parser) -> Sequence[UnresolvedOperand]:
    """Parse `%0, %1`, or nothing."""
    operands = parser.parse_optional_undelimited_comma_separated_list(
        parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
    )
    return operands or ()


def parse_types_of(parser: Parser, operands: Sequence[UnresolvedOperand]) -> Sequence[SSAValue]:
    """Parse `: T, U`, the types of operands, or nothing if there are none; return the values."""
    if not operands:
        return ()
    parser.parse_punctuation(":")
    position = parser.pos
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    return parser.resolve_operands(operands, types, position)


def print_types_of(values: Sequence[SSAValue], printer: Printer) -> None:
    """Print the types of values as `parse_types_of` parses them."""
    if values:
        printer.print_string(" : ")
        printer.print_list([value.type for value in values], printer.print_attribute)


def print_return(op: ReturnOp, printer: Printer) -> None:
    """Print a return as `parse_return` parses it."""
    printer.print_op_attributes(op.attributes)
    if op.operands:
        printer.print_string(" ")
        printer.print_list(op.operands, printer.print_ssa_value)
    print_types_of(op.operands, printer)


def _syntax(parse: Callable[[Parser], OpT], write: Callable[[OpT, Printer], None]) -> OpSyntax:
    return OpSyntax(parse, cast("Callable[[Operation, Printer], None]", write))


# Ops of xDSL whose syntax here is MLIR's.
CUSTOM_SYNTAX: dict[type[Operation], OpSyntax] = {
    ModuleOp: _syntax(parse_module, print_module),
    FuncOp: _syntax(parse_func, print_func),
    CallOp: _syntax(parse_call, print_call),
    ReturnOp: _syntax(parse_return, print_return),
}

# Directly inside these ops, the names of ops of the given dialect are written without its prefix.
DEFAULT_DIALECTS: dict[type[Operation], str] = {ModuleOp: "builtin", FuncOp: "func"}
