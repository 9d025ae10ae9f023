"""Places in a user's text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one line of a file. Lines and columns count from 1.

    `text` is the whole line where it is known; without it the renderer looks the line up in the sources it is given.
    """

    file: str
    line: int
    column: int
    length: int = 1
    text: str | None = None


def span_at(file: str, source: str, start: int, end: int | None = None, first_line: int = 1) -> Span:
    """The span of `source[start:end]`, cut at the end of its line; one column where `end` is missing.

    `first_line` is the line of the file at which `source` begins.
    """
    start = min(start, len(source))
    line_start = source.rfind("\n", 0, start) + 1
    line_end = source.find("\n", start)
    if line_end < 0:
        line_end = len(source)
    length = max(1, min(end if end is not None else start + 1, line_end) - start)
    line = first_line + source.count("\n", 0, start)
    return Span(file, line, start - line_start + 1, length, source[line_start:line_end])
