"""An open document: its text, positions in it, and the tokens at these positions.

Lines and columns count from 0, in code points. They are known for any text, also for one that does not parse.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import accumulate, islice
from operator import eq
from typing import NamedTuple

_SUFFIX = r"[A-Za-z0-9_$.-]+"
_TOKEN = re.compile(
    rf"""
      (?P<COMMENT>//[^\n]*)
    | (?P<STRING>"(?:[^"\\\n]|\\.)*"?)
    | (?P<VALUE>%{_SUFFIX})
    | (?P<SYMBOL>@(?:[A-Za-z_][A-Za-z0-9_$.]*|"[^"\n]*"))
    | (?P<BLOCK>\^{_SUFFIX})
    | (?P<ALIAS>[\#!]{_SUFFIX})
    | (?P<NAME>[A-Za-z_][A-Za-z0-9_$.]*)
    """,
    re.VERBOSE,
)


class TokenKind(Enum):
    """The kind of a token that a reader may ask about."""

    COMMENT = "comment"
    STRING = "string"
    VALUE = "value"
    SYMBOL = "symbol"
    BLOCK = "block"
    ALIAS = "alias"
    NAME = "name"


class Position(NamedTuple):
    """A position between two characters: the line, and the number of code points before it on the line."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a text, from `start` up to `end`, which are offsets."""

    kind: TokenKind
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Document:
    """One version of a text. Lines end with a line feed; the editor's carriage returns are blanks at their end."""

    text: str
    version: int = 0

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without line feeds."""
        return self.text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.lines[:-1])]

    def offset(self, position: Position) -> int:
        """Return the offset of a position; positions beyond the text or a line are at the end of these."""
        if position.line >= len(self._starts):
            return len(self.text)
        return self._starts[position.line] + min(position.column, len(self.lines[position.line]))

    def position(self, offset: int) -> Position:
        """Return the position of an offset."""
        line = bisect_right(self._starts, offset) - 1
        return Position(line, offset - self._starts[line])

    def line_start(self, offset: int) -> int:
        """Return the offset at which the line of an offset begins."""
        return self._starts[bisect_right(self._starts, offset) - 1]

    def line_end(self, offset: int) -> int:
        """Return the offset at which the line of an offset ends, before its line feed."""
        end = self.text.find("\n", offset)
        return end if end >= 0 else len(self.text)

    def token_at(self, offset: int) -> Token | None:
        """Return the token that contains an offset, or that ends there; None if there is none."""
        start, found = self.line_start(offset), None
        for match in _TOKEN.finditer(self.text, start, self.line_end(offset)):
            if match.start() > offset:
                break
            if offset <= match.end():
                found = Token(TokenKind[match.lastgroup or ""], match[0], *match.span())
        return found


@dataclass(frozen=True)
class LineMap:
    """Maps the lines of an old text to those of a new one: lines before and after the lines that differ."""

    prefix: int  # the number of equal lines at the beginning
    old_end: int  # the first of the equal lines at the end of the old text
    new_end: int

    @staticmethod
    def between(old: list[str], new: list[str]) -> LineMap:
        """Compare the lines of two texts from both ends."""
        shorter = min(len(old), len(new))
        prefix = _common_prefix(old, new, shorter)
        suffix = _common_prefix(reversed(old), reversed(new), shorter - prefix)
        return LineMap(prefix, len(old) - suffix, len(new) - suffix)

    def to_new(self, line: int) -> int | None:
        """Return the line of the new text that is this line of the old one, or None if the line changed."""
        if line < self.prefix:
            return line
        return line - self.old_end + self.new_end if line >= self.old_end else None

    def to_old(self, line: int) -> int | None:
        """Return the line of the old text that is this line of the new one, or None if the line changed."""
        return LineMap(self.prefix, self.new_end, self.old_end).to_new(line)


def _common_prefix(old: Iterable[str], new: Iterable[str], most: int) -> int:
    """Return the number of equal lines at the beginning, at most `most`."""
    return next((index for index, equal in enumerate(islice(map(eq, old, new), most)) if not equal), most)
