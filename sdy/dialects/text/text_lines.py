"""The lines of a text: their offsets, and places in them."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, repeat
from operator import add

from sdy.diagnostics.span import Span, span_at


class SourceLines:
    """The lines of the text of `file`. Lines and columns count from 1, indices and offsets from 0."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self.texts = text.split("\n")
        """The lines, without line breaks."""
        self.starts = list(accumulate(map(add, map(len, self.texts), repeat(1)), initial=0))
        """The offset of each line, and that of the line after the last one."""

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset."""
        index = self._index_of(offset)
        return index + 1, offset - self.starts[index] + 1

    def index_at_begin(self, offset: int) -> int | None:
        """Return the index of the line that begins at an offset, not counting blanks before and after it; else None."""
        index = self._index_of(offset)
        before, after = self._text[self.starts[index] : offset], self._text[offset : self.starts[index + 1]]
        if not before.strip():
            return index
        return None if after.strip() else index + 1

    def _index_of(self, offset: int) -> int:
        return bisect_right(self.starts, offset, hi=len(self.texts)) - 1

    def span(self, start: int, end: int | None = None) -> Span:
        """Return the span from `start` to `end`, truncated at the end of its line."""
        return span_at(self._file, self._text, start, end)
