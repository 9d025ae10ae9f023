"""From an offset in a text to its line and column."""

from __future__ import annotations

import re
from bisect import bisect_right

from sdy.diagnostics.span import Span, span_at


class SourceLines:
    """The lines of the text of `file`. Lines and columns count from 1."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer(r"\n", text))]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        index = bisect_right(self._starts, offset) - 1
        return index + 1, offset - self._starts[index] + 1

    def span(self, start: int, end: int | None = None) -> Span:
        """The stretch from `start` to `end`, cut at the end of its line."""
        return span_at(self._file, self._text, start, end)
