"""The printer of attributes and literals, as MLIR prints them."""

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
    StringAttr,
    UnitAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, BlockArgument
from xdsl.printer import Printer

from sdy.dialects.constants.float_formats import FLOAT_FORMATS, bits_of, float_text

_BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_TO_ESCAPE = re.compile(rb"[^ !#-\[\]-~]")


class AttributePrinter(Printer):
    """A printer of attributes, which formats each attribute object only once."""

    def __init__(self, stream: StringIO, generic: bool = False) -> None:
        super().__init__(stream=stream, print_generic_format=generic)
        self._append: Callable[[str], object] = stream.write
        self._depth = 0
        # From the id of an attribute to its text; the attribute is kept alive so that its id is not reused.
        self._texts: dict[int, tuple[str, Attribute]] = {}

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if "\n" in text:
            text = text.replace("\n", "\n" + "  " * (self._depth if indent is None else indent))
        self._append(text)

    @contextmanager
    def indented(self, amount: int = 1) -> Generator[None, None, None]:
        self._depth += amount
        try:
            yield
        finally:
            self._depth -= amount

    def print_bytes_literal(self, bytestring: bytes) -> None:
        escaped = _TO_ESCAPE.sub(lambda match: b"\\\\" if match[0] == b"\\" else b"\\%02X" % match[0][0], bytestring)
        self._append(f'"{escaped.decode("ascii")}"')

    def print_identifier_or_string_literal(self, string: str | StringAttr) -> None:
        string = string.data if isinstance(string, StringAttr) else string  # from xDSL 0.75 on
        if _BARE_NAME.fullmatch(string) is None:
            self.print_string_literal(string)
        else:
            self._append(string)

    def print_argument_location(self, argument: BlockArgument) -> None:
        """Print the location of a block argument, if locations are printed."""

    def print_attribute(self, attribute: Attribute) -> None:
        cached = self._texts.get(id(attribute))
        if cached is None:
            cached = self._texts[id(attribute)] = (self._attribute_text(attribute), attribute)
        self._append(cached[0])

    def _attribute_text(self, attribute: Attribute) -> str:
        parts: list[str] = []
        outer, self._append = self._append, parts.append
        if isinstance(attribute, ArrayAttr):
            self._print_elements(cast("ArrayAttr[Attribute]", attribute).data)
        else:
            super().print_attribute(attribute)
        self._append = outer
        return "".join(parts)

    def _print_elements(self, elements: Sequence[Attribute]) -> None:
        """Print a list of attributes; as in MLIR, numbers of type i64 and f64 are printed without their type."""
        self._append("[")
        for index, element in enumerate(elements):
            self._append(", " if index else "")
            match element:
                case IntegerAttr(value=IntAttr(data=number), type=number_type) if number_type == i64:
                    self._append(str(number))
                case FloatAttr(value=FloatData(data=real), type=number_type) if number_type == f64:
                    self.print_float(real, f64)
                case _:
                    self.print_attribute(element)
        self._append("]")

    def print_float(self, value: float, type: AnyFloat) -> None:  # noqa: A002 -- xDSL's name
        layout = FLOAT_FORMATS.get(type.name)
        if layout is None:
            super().print_float(value, type)
        else:
            self._append(float_text(bits_of(value, layout), layout))

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        self._append("{")
        for index, (name, attribute) in enumerate(sorted(attr_dict.items())):
            if index:
                self._append(", ")
            self.print_identifier_or_string_literal(name)
            if not isinstance(attribute, UnitAttr):
                self._append(" = ")
                self.print_attribute(attribute)
        self._append("}")
