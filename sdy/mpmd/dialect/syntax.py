"""The syntax that ops of the dialect `mpmd` share, and the op that ends their bodies. Source: docs/spec/07, 3."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, SymbolRefAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, ReturnLike

from sdy.dialects.sdy.attrs import TensorShardingPerValueAttr
from sdy.dialects.sdy.declared_syntax import DeclaredSyntaxOp
from sdy.dialects.sdy.notation import read_bracketed
from sdy.dialects.text.func_syntax import create_with_signature
from sdy.dialects.text.location_parser import parse_located_argument
from sdy.grammar.parse import SHARDING_LIST
from sdy.grammar.write import write_sharding_list
from sdy.mpmd.dialect.attrs import UserOrigin, UserOriginAttr, parse_user_origin
from sdy.mpmd.dialect.functions import callee_of


@irdl_op_definition
class ReturnOp(DeclaredSyntaxOp):
    """Return values from the body of a fragment, a named computation or a loop: `mpmd.return %0 : tensor<8xf32>`."""

    name = "mpmd.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), ReturnLike(), Pure())
    SYNTAX: ClassVar[str] = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue) -> None:
        super().__init__(operands=[values])


Attributes = dict[str, Attribute]
SHARDING_LISTS = ("in_shardings", "out_shardings")


def parse_attributes(cls: type[IRDLOperation], parser: Parser) -> tuple[Attributes, Attributes]:
    """Parse an attribute dictionary, and return the properties of the op in it, and the other attributes."""
    found = dict(parser.parse_optional_attr_dict())
    declared = cls.get_irdl_definition().properties
    properties = {name: found.pop(name) for name in list(found) if name in declared}
    return properties, found


class CalleeOp(IRDLOperation):
    """The base class of ops with the syntax `name @callee(%a) {attributes} : (T) -> U`."""

    callee = prop_def(SymbolRefAttr)

    @property
    def callee_name(self) -> str:
        """The name of the function that is called."""
        return self.callee.root_reference.data

    @property
    def function(self) -> FuncOp:
        """The function that is called. Raises: SdyError SDY-M003 if it does not exist."""
        return callee_of(self, self.callee_name)

    @classmethod
    def parse_call(cls, parser: Parser, properties: Attributes) -> Self:
        """Parse the op after what precedes the name of the callee."""
        callee = parser.parse_attribute()
        operands = parser.parse_op_args_list()
        attributes = parser.parse_optional_attr_dict()
        return create_with_signature(cls, parser, operands, {**properties, "callee": callee}, attributes)

    def print_call(self, printer: Printer) -> None:
        """Print what `parse_call` reads."""
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        printer.print_operands(self.operands)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)


class OnMeshOp(IRDLOperation):
    """The base class of ops that run named computations on one mesh."""

    origin = prop_def(ArrayAttr[UserOriginAttr])
    mesh_name = prop_def(StringAttr)

    @property
    def mesh(self) -> str:
        """The name of the mesh."""
        return self.mesh_name.data

    @property
    def origins(self) -> list[UserOrigin]:
        """The named computations that it contains."""
        return [origin.data for origin in self.origin]


def parse_fragment_header(parser: Parser) -> Attributes:
    """Parse `<mesh="m", origin=["f"(1)], stage=1, in_shardings=[...], out_shardings=[...]>`."""
    readers: dict[str, tuple[str, Callable[[], Attribute]]] = {
        "mesh": ("mesh_name", lambda: StringAttr(parser.parse_str_literal())),
        "origin": ("origin", lambda: ArrayAttr(map(UserOriginAttr, _parse_origins(parser)))),
        "stage": ("stage_id", parser.parse_attribute),
    }
    for name in SHARDING_LISTS:
        readers[name] = name, lambda: TensorShardingPerValueAttr(read_bracketed(parser, SHARDING_LIST))
    properties: Attributes = {}
    has_more = True
    with parser.in_angle_brackets():
        for keyword, (name, read) in readers.items():
            if keyword in ("mesh", "origin"):
                parser.parse_keyword(keyword)
            elif not has_more or parser.parse_optional_keyword(keyword) is None:
                continue
            parser.parse_punctuation("=")
            properties[name] = read()
            has_more = parser.parse_optional_punctuation(",") is not None
    return properties


def _parse_origins(parser: Parser) -> Sequence[UserOrigin]:
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_user_origin(parser))


def fragment_header(properties: Mapping[str, Attribute]) -> str:
    """Return the text that `parse_fragment_header` reads."""
    mesh = cast("StringAttr", properties["mesh_name"]).data
    origins = ", ".join(str(origin.data) for origin in cast("ArrayAttr[UserOriginAttr]", properties["origin"]))
    parts = [f'mesh="{mesh}"', f"origin=[{origins}]"]
    stage = properties.get("stage_id")
    if isinstance(stage, IntegerAttr):
        parts.append(f"stage={stage.value.data}" + ("" if stage.type == i64 else f" : {stage.type}"))
    for name in SHARDING_LISTS:
        shardings = properties.get(name)
        if isinstance(shardings, TensorShardingPerValueAttr):
            parts.append(f"{name}={write_sharding_list(shardings.data)}")
    return f"<{', '.join(parts)}>"


class RegionOp(IRDLOperation):
    """The base class of ops with a body: ` (%a) {attributes} (%arg: T) { ... } : ` and the types."""

    @classmethod
    def parse_region_op(cls, parser: Parser, properties: Attributes) -> Self:
        """Parse the op after its header."""
        operands = parser.parse_op_args_list()
        more, attributes = parse_attributes(cls, parser)
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_located_argument(parser))
        body = parser.parse_region(arguments)
        block = body.blocks.first
        if block is not None and (block.last_op is None or not isinstance(block.last_op, ReturnOp)):
            block.add_op(ReturnOp.create())
        parser.parse_punctuation(":")
        position = parser.pos
        inputs, outputs = cls.parse_types(parser)
        return cls.create(
            operands=parser.resolve_operands(operands, inputs, position),
            result_types=outputs,
            properties={**properties, **more},
            attributes=attributes,
            regions=[body],
        )

    @classmethod
    def parse_types(cls, parser: Parser) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
        """Parse the types of the operands and results."""
        types = parser.parse_function_type()
        return types.inputs.data, types.outputs.data

    def print_region_op(self, printer: Printer, shown: Mapping[str, Attribute] | None = None) -> None:
        """Print what `parse_region_op` reads; `shown` are the properties in the attribute dictionary."""
        printer.print_string(" ")
        printer.print_operands(self.operands)
        printer.print_op_attributes({**(shown or {}), **self.attributes})
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.regions[0].block.args, printer.print_block_argument)
        printer.print_string(" ")
        printer.print_region(self.regions[0], print_entry_block_args=False)
        printer.print_string(" : ")
        self.print_types(printer)

    def print_types(self, printer: Printer) -> None:
        """Print the types of the operands and results."""
        printer.print_function_type(self.operand_types, self.result_types)
