"""Reads the locations that MLIR writes behind ops: `loc("model.py":12:4)`, `loc(#loc7)`, names, call sites, fusions.

MLIR defines the aliases of locations at the end of a file, after their uses, so an alias is looked up when all is read.
Where an op stands in the text is what sdy calls its place; the locations read here are checked and not kept.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.parser import Parser
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from sdy.dialects.text.text_parser import TextParser, near_miss


class LocationParser(TextParser):
    """A parser that knows all forms of locations."""

    def _parse_location(self) -> LocationAttr:
        token = self._current_token
        if token.kind is MLIRTokenKind.HASH_IDENT:
            self._consume_token()
            self._location_aliases.setdefault(token.text, token.span)
            return UnknownLoc()
        name = self.parse_optional_str_literal()
        if name is not None:
            return self._parse_named(StringAttr(name))
        if self.parse_optional_keyword("callsite"):
            with self.in_parens():
                callee = self._parse_location()
                self.parse_keyword("at")
                return CallSiteLoc(callee, self._parse_location())
        if self.parse_optional_keyword("fused"):
            if self.parse_optional_punctuation("<"):
                self.parse_attribute()
                self.parse_punctuation(">")
            parts = self.parse_comma_separated_list(Parser.Delimiter.SQUARE, self._parse_location)
            return FusedLoc(tuple(parts), NoneAttr())
        if not self.parse_optional_keyword("unknown"):
            forms = 'unknown, "name", "file":line:column, callsite(...), fused[...] or an alias'
            self.raise_error(f"a location is {forms}")
        return UnknownLoc()

    def _parse_named(self, name: StringAttr) -> LocationAttr:
        """What follows a string: a line and a column, or a range of them, or the location that it names."""
        if self.parse_optional_punctuation(":"):
            line, column = self._parse_line_and_column()
            if self.parse_optional_keyword("to"):
                self._parse_end()
            return FileLineColLoc(name, IntAttr(line), IntAttr(column))
        if self._current_token.kind is not MLIRTokenKind.L_PAREN:
            return NameLoc(name, NoneAttr())
        with self.in_parens():
            return NameLoc(name, self._parse_location())

    def _parse_line_and_column(self) -> tuple[int, int]:
        line = self.parse_integer(allow_boolean=False, allow_negative=False)
        self.parse_punctuation(":")
        return line, self.parse_integer(allow_boolean=False, allow_negative=False)

    def _parse_end(self) -> None:
        """The end of a range: `:column` on the same line, or `line:column`."""
        if self.parse_optional_punctuation(":"):
            self.parse_integer(allow_boolean=False, allow_negative=False)
        else:
            self._parse_line_and_column()

    def _check_location_aliases(self) -> None:
        """Every alias that stands for a location is defined, as a location."""
        for name, span in self._location_aliases.items():
            if not isinstance(self.attribute_aliases.get(name), LocationAttr):
                hint = near_miss(name[1:], [alias[1:] for alias in self.attribute_aliases], "#")
                self.fail("SDY-P003", f"{name} is not defined as a location", span, hint)

    _location_aliases: dict[str, Span]
