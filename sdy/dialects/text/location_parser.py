"""A parser of the locations after ops: `loc("model.py":12:4)`, `loc(#loc7)`, names, call sites, fused locations.

MLIR defines location aliases at the end of a file, after their uses, so they are checked after all text is parsed.
The location of an op or argument is its position in the text; `parsed_locations` returns those that the text names.
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
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from sdy.diagnostics.wording import similar_name_hint
from sdy.dialects.text.debug_locations import NAMED_UNKNOWN, RANGE, ParsedLocations
from sdy.dialects.text.source_lines import alias_location
from sdy.dialects.text.text_parser import TextParser


class LocationParser(TextParser):
    """A parser of all forms of locations."""

    def _parse_location(self) -> LocationAttr:
        token = self._current_token
        if token.kind is MLIRTokenKind.HASH_IDENT:
            self._consume_token()
            self._location_aliases.setdefault(token.text, token.span)
            return alias_location(token.text)
        name = self.parse_optional_str_literal()
        if name is not None:
            return self._parse_named(StringAttr(name))
        if self.parse_optional_keyword("callsite"):
            with self.in_parens():
                callee = self._parse_location()
                self.parse_keyword("at")
                return CallSiteLoc(callee, self._parse_location())
        if self.parse_optional_keyword("fused"):
            metadata: Attribute = NoneAttr()
            if self.parse_optional_punctuation("<"):
                metadata = self.parse_attribute()
                self.parse_punctuation(">")
            parts = self.parse_comma_separated_list(Parser.Delimiter.SQUARE, self._parse_location)
            return FusedLoc(tuple(parts), metadata)
        if not self.parse_optional_keyword("unknown"):
            forms = '"name", "file":line:column, unknown, callsite(...), fused[...] or an alias'
            self.raise_error(f"expected a location: {forms}")
        return NAMED_UNKNOWN

    def _parse_named(self, name: StringAttr) -> LocationAttr:
        """Parse the rest of a location after a string: a position, a range of positions, or a named location."""
        if self.parse_optional_punctuation(":"):
            line, column = self._parse_line_and_column()
            first = FileLineColLoc(name, IntAttr(line), IntAttr(column))
            return FusedLoc((first, self._parse_end(first)), RANGE) if self.parse_optional_keyword("to") else first
        if self._current_token.kind is not MLIRTokenKind.L_PAREN:
            return NameLoc(name, NoneAttr())
        with self.in_parens():
            return NameLoc(name, self._parse_location())

    def _parse_line_and_column(self) -> tuple[int, int]:
        line = self.parse_integer(allow_boolean=False, allow_negative=False)
        self.parse_punctuation(":")
        return line, self.parse_integer(allow_boolean=False, allow_negative=False)

    def _parse_end(self, first: FileLineColLoc) -> FileLineColLoc:
        """Parse the end of a range: `:column` on the line of `first`, or `line:column`."""
        if self.parse_optional_punctuation(":"):
            column = self.parse_integer(allow_boolean=False, allow_negative=False)
            return FileLineColLoc(first.filename, first.line, IntAttr(column))
        line, column = self._parse_line_and_column()
        return FileLineColLoc(first.filename, IntAttr(line), IntAttr(column))

    def _check_location_aliases(self) -> None:
        """Raise an error unless every alias used as a location is defined as a location."""
        for name, span in self._location_aliases.items():
            if not isinstance(self.attribute_aliases.get(name), LocationAttr):
                hint = similar_name_hint(name[1:], [alias[1:] for alias in self.attribute_aliases], "#")
                self.fail("SDY-P003", f"{name} is not defined as a location", span, hint)

    def parsed_locations(self) -> ParsedLocations:
        """Return, after parsing, the locations that the text names."""
        of_ops, of_arguments = (
            {self.lines.line_and_column(start): location for start, location in locations.items()}
            for locations in (self._locations, self._argument_locations)
        )
        return ParsedLocations(of_ops, of_arguments, self.attribute_aliases)

    _location_aliases: dict[str, Span]
    _locations: dict[int, LocationAttr]  # of the ops, by where they begin
    _argument_locations: dict[int, LocationAttr]  # of the block arguments, by where they begin
