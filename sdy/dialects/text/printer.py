"""Prints ops as MLIR does, byte for byte: names, numbers, attribute order, abbreviations."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    FloatAttr,
    FloatData,
    IntAttr,
    IntegerAttr,
    UnitAttr,
    UnregisteredOp,
    f64,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.printer import Printer

from sdy.dialects.constants.float_formats import FLOAT_FORMATS, bits_of, float_text
from sdy.dialects.text.func_syntax import CUSTOM_SYNTAX, DEFAULT_DIALECTS
from sdy.dialects.text.resources import MARKER, resource_section
from sdy.dialects.text.ssa_names import name_values

_BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_TO_ESCAPE = re.compile(rb"[^ !#-\[\]-~]")


def print_operation(op: Operation, generic: bool = False) -> str:
    """The text of an op and all that is in it, without a final newline; `generic` spells every op in one way."""
    stream = StringIO()
    MlirPrinter(stream, op, generic).print_op(op)
    text = stream.getvalue()
    return f"{text}\n\n{resource_section(op)}" if MARKER in text else text


class MlirPrinter(Printer):
    """Prints `root`, or any op in it."""

    def __init__(self, stream: StringIO, root: Operation, generic: bool = False) -> None:
        super().__init__(stream=stream, print_generic_format=generic)
        self._write: Callable[[str], object] = stream.write
        self._names = name_values(root, unique=generic)
        self._default_dialects = ["builtin"]
        self._depth = 0
        self._texts: dict[int, tuple[str, Attribute]] = {}  # by identity; the attribute keeps its number while it lives

    # Text

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if "\n" in text:
            text = text.replace("\n", "\n" + "  " * (self._depth if indent is None else indent))
        self._write(text)

    @contextmanager
    def indented(self, amount: int = 1) -> Generator[None, None, None]:
        self._depth += amount
        try:
            yield
        finally:
            self._depth -= amount

    def print_bytes_literal(self, bytestring: bytes) -> None:
        escaped = _TO_ESCAPE.sub(lambda match: b"\\\\" if match[0] == b"\\" else b"\\%02X" % match[0][0], bytestring)
        self._write(f'"{escaped.decode("ascii")}"')

    def print_identifier_or_string_literal(self, string: str) -> None:
        if _BARE_NAME.fullmatch(string) is None:
            self.print_string_literal(string)
        else:
            self._write(string)

    # Attributes

    def print_attribute(self, attribute: Attribute) -> None:
        known = self._texts.get(id(attribute))
        if known is None:
            known = self._texts[id(attribute)] = (self._attribute_text(attribute), attribute)
        self._write(known[0])

    def _attribute_text(self, attribute: Attribute) -> str:
        parts: list[str] = []
        outer, self._write = self._write, parts.append
        if isinstance(attribute, ArrayAttr):
            self._print_elements(cast("ArrayAttr[Attribute]", attribute).data)
        else:
            super().print_attribute(attribute)
        self._write = outer
        return "".join(parts)

    def _print_elements(self, elements: Sequence[Attribute]) -> None:
        """Within a list, numbers of the default types stand without their type."""
        self._write("[")
        for index, element in enumerate(elements):
            self._write(", " if index else "")
            match element:
                case IntegerAttr(value=IntAttr(data=number), type=of_type) if of_type == i64:
                    self._write(str(number))
                case FloatAttr(value=FloatData(data=real), type=of_type) if of_type == f64:
                    self.print_float(real, f64)
                case _:
                    self.print_attribute(element)
        self._write("]")

    def print_float(self, value: float, type: AnyFloat) -> None:  # noqa: A002 -- xDSL's name
        layout = FLOAT_FORMATS.get(type.name)
        if layout is None:
            super().print_float(value, type)
        else:
            self._write(float_text(bits_of(value, layout), layout))

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        self._write("{")
        for index, (name, attribute) in enumerate(sorted(attr_dict.items())):
            if index:
                self._write(", ")
            self.print_identifier_or_string_literal(name)
            if not isinstance(attribute, UnitAttr):
                self._write(" = ")
                self.print_attribute(attribute)
        self._write("}")

    # Ops

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self._names[value]
        self._write(f"%{name}")
        return name

    def print_op(self, op: Operation) -> None:
        if op.results:
            self._write(f"{self._names.results(op)} = ")
        custom = None if self.print_generic_format else _custom_print(op)
        if custom is None:
            self._write(f'"{op_name(op)}"')
            self._print_generic(op)
            return
        default = self._default_dialects[-1]
        name = op.name.removeprefix(f"{default}.") if op.name.count(".") == 1 else op.name
        self._write(name)
        self._default_dialects.append(DEFAULT_DIALECTS.get(type(op), ""))
        custom(op, self)
        self._default_dialects.pop()

    def print_region(
        self,
        region: Region,
        print_entry_block_args: bool = True,
        print_empty_block: bool = True,
        print_block_terminators: bool = True,
    ) -> None:
        self._write("{")
        for index, block in enumerate(region.blocks):
            is_labelled = bool(index or (block.args and print_entry_block_args))
            is_labelled |= bool(print_empty_block and not index and not block.args and block.is_empty)
            self._print_block(block, index, is_labelled, print_block_terminators)
        self.print_string("\n}")

    def _print_block(self, block: Block, index: int, is_labelled: bool, print_terminator: bool) -> None:
        if is_labelled:
            self.print_string(f"\n^bb{index}")
            if block.args:
                with self.in_parens():
                    self.print_list(block.args, self.print_block_argument)
            self._write(":")
        self._depth += 1
        for op in block.ops:
            if print_terminator or op is not block.last_op:
                self.print_string("\n")
                self.print_op(op)
        self._depth -= 1

    def print_block_name(self, block: Block) -> str:
        region = block.parent
        index = region.get_block_index(block) if region is not None else 0
        self._write(f"^bb{index}")
        return f"bb{index}"

    def _print_generic(self, op: Operation) -> None:
        self.print_operands(op.operands)
        if op.successors:
            with self.in_square_brackets():
                self.print_list(op.successors, self.print_block_name)
        if op.properties:
            self._write(" <")
            self.print_attr_dict(op.properties)
            self._write(">")
        self._default_dialects.append("")
        self.print_regions(op.regions)
        self._default_dialects.pop()
        self.print_op_attributes(_discardable(op))
        self._write(" : ")
        self.print_operation_type(op)


def op_name(op: Operation) -> str:
    """The name of an op, also of one whose dialect is not known."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def _discardable(op: Operation) -> Mapping[str, Attribute]:
    if not isinstance(op, UnregisteredOp):
        return op.attributes
    return {name: attribute for name, attribute in op.attributes.items() if name != "op_name__"}


def _custom_print(op: Operation) -> Callable[[Operation, Printer], None] | None:
    """How the op is written in its own syntax; None where it has none."""
    own = CUSTOM_SYNTAX.get(type(op))
    if own is not None:
        return own.print
    return None if type(op).print is Operation.print else type(op).print
