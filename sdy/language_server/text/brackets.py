"""The nesting of parentheses and braces in a text, also of one in which some are missing."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

# A run of other characters, then a bracket as group 1, or a token without brackets: a string, a comment, parentheses
# around types. Runs and possessive quantifiers make the search three times as fast as one for brackets alone.
_BRACKET = re.compile(r"""[^"/(){}]*+(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|//[^\n]*+|\([^"/(){}%]*+\)|([(){}])|["/])""")
_OPENING = {")": "(", "}": "{"}


@dataclass(slots=True)
class Pair:
    """A bracket that opens at `start`; `end` is the offset of the one that closes it, or the end of the text."""

    kind: str
    start: int
    end: int
    outer: Pair | None


class Brackets:
    """The parentheses and braces of a text, without those in strings and comments, and those around types.

    A brace closes the parentheses inside it that are still open; a parenthesis that closes nothing is ignored.
    """

    def __init__(self, text: str) -> None:
        self._pairs: list[Pair] = []
        self._starts: list[int] = []
        self._offsets: list[int] = []  # of all brackets
        self._innermost: list[Pair | None] = []  # after each bracket
        inner: Pair | None = None
        for match in _BRACKET.finditer(text):
            kind = match[1]
            if kind is None:
                continue
            offset = match.end() - 1
            if kind in ("(", "{"):
                inner = Pair(kind, offset, len(text), inner)
                self._pairs.append(inner)
                self._starts.append(offset)
            else:
                inner = _closed(inner, _OPENING[kind], offset)
            self._offsets.append(offset)
            self._innermost.append(inner)

    def around(self, offset: int) -> Pair | None:
        """Return the innermost pair around an offset; None at the outermost level."""
        index = bisect_left(self._offsets, offset) - 1
        return self._innermost[index] if index >= 0 else None

    def braces_around(self, offset: int) -> Pair | None:
        """Return the innermost braces around an offset."""
        found = self.around(offset)
        while found is not None and found.kind != "{":
            found = found.outer
        return found

    def next_braces(self, pair: Pair) -> Pair | None:
        """Return the first braces after a pair, inside the same brackets; None if there are none."""
        for index in range(bisect_right(self._starts, pair.end), len(self._pairs)):
            found = self._pairs[index]
            if found.kind == "{" and found.outer is pair.outer:
                return found
            if pair.outer is not None and found.start > pair.outer.end:
                return None
        return None


def _closed(inner: Pair | None, kind: str, offset: int) -> Pair | None:
    """Return the innermost pair after a bracket that closes pairs of a kind."""
    if kind == "{":
        while inner is not None and inner.kind == "(":
            inner.end, inner = offset, inner.outer
    if inner is None or inner.kind != kind:
        return inner
    inner.end = offset
    return inner.outer
