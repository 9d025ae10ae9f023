"""Locations in a user's text."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A range of characters in one line of a file. Lines and columns count from 1.

    `text` is the full line, or None if it is unknown; the renderer then looks the line up in its sources. `source` is
    the line of the program that the text was generated from (`train.py:20`), or empty.
    """

    file: str
    line: int
    column: int
    length: int = 1
    text: str | None = None
    source: str = ""


def span_at(file: str, source: str, start: int, end: int | None = None, first_line: int = 1) -> Span:
    """Return the span of `source[start:end]`, truncated at the end of its line; of one character if `end` is None.

    `first_line` is the line number of the first line of `source` in the file.
    """
    start = min(start, len(source))
    line_start = source.rfind("\n", 0, start) + 1
    line_end = source.find("\n", start)
    if line_end < 0:
        line_end = len(source)
    length = max(1, min(end if end is not None else start + 1, line_end) - start)
    line = first_line + source.count("\n", 0, start)
    return Span(file, line, start - line_start + 1, length, source[line_start:line_end])
