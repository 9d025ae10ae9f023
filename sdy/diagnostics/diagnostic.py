"""Diagnostics: a code, a message, the location of the error and a hint; their text; and the exceptions that carry them.

The text of a diagnostic is `file:line:column: error: message [code]`, the line, a caret, notes and the hint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from sdy.documents.document import document

MOST_SHOWN = 240  # characters of a line


class Severity(Enum):
    """The severity of a diagnostic. The value is the text that the rendered line shows."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


class Note(NamedTuple):
    """A remark attached to a diagnostic, usually about another location in the text."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message to the user. `code` is a key of `CODES`, or one of an extension: `MINE-001`.

    Raises: InternalError if a code that begins with `SDY-` is not listed.
    """

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        if not self.code.startswith("SDY-"):
            return
        from sdy.diagnostics.codes import CODES  # imported here, because most runs have no diagnostics

        if self.code not in CODES:
            raise InternalError(f"diagnostic code {self.code} is not listed in sdy/diagnostics/diagnostic.py")

    def to_json(self) -> dict[str, object]:
        """Return the diagnostic as plain data."""
        notes = [note.message for note in self.notes]
        return document("ReportedDiagnostic", self, **place_json(self.span), notes=notes)


def place_json(span: Span | None) -> dict[str, object]:
    """Return the file, the line, the column and the source line of a span as plain data."""
    return {name: getattr(span, name, None) for name in ("file", "line", "column", "source")}


class SdyError(Exception):
    """An error in the user's input, described by one or more diagnostics in the order in which they were found."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        """Return the diagnostics as text, one after another."""
        return "\n".join(map(render, self.diagnostics))


class InternalError(Exception):
    """A violated invariant of sdy, which is always a bug in sdy and never an error of the user."""


def with_sources(diagnostic: Diagnostic, source_lines: Mapping[int, str]) -> Diagnostic:
    """Return a diagnostic whose locations name the source line of each line: `{7: "train.py:12"}`."""

    def sourced(span: Span | None) -> Span | None:
        return None if span is None else span._replace(source=source_lines.get(span.line, span.source))

    notes = tuple(note._replace(span=sourced(note.span)) for note in diagnostic.notes)
    return replace(diagnostic, span=sourced(diagnostic.span), notes=notes)


def render(diagnostic: Diagnostic, sources: Mapping[str, str] | None = None) -> str:
    """Return the diagnostic as lines of text, without a final newline.

    `sources` maps file names to their text; it is used for spans that do not carry the text of their line.
    """
    headline = f"{diagnostic.severity.value}: {diagnostic.message} [{diagnostic.code}]"
    lines = _located(diagnostic.span, headline, sources)
    for note in diagnostic.notes:
        lines += _located(note.span, f"note: {note.message}", sources)
    if diagnostic.hint:
        lines.append(f"  hint: {diagnostic.hint}")
    return "\n".join(lines)


def _located(span: Span | None, headline: str, sources: Mapping[str, str] | None) -> list[str]:
    if span is None:
        return [headline]
    source = f" ({span.source})" if span.source else ""
    lines = [f"{span.file}:{span.line}:{span.column}{source}: {headline}"]
    text = span.text if span.text is not None else _line_of(span, sources)
    if text is not None:
        shown, before = _excerpt(text, span.column - 1)
        # Copy the tabs of the line into the margin, so that the caret is aligned for any tab width.
        margin = "".join("\t" if character == "\t" else " " for character in shown[:before])
        carets = "^" * max(1, min(span.length, len(shown) - before))
        lines += [f"  {shown}", f"  {margin}{carets}"]
    return lines


def _excerpt(text: str, start: int) -> tuple[str, int]:
    """Return the part of a line that is shown, and the index in it of the character at `start` of the line.

    The header of a function may be thousands of characters long, which would fill the screen and hide the caret.
    """
    if len(text) <= MOST_SHOWN:
        return text, start
    first = max(0, min(start - MOST_SHOWN // 3, len(text) - MOST_SHOWN))
    dots = "..." if first else ""
    end = "..." if first + MOST_SHOWN < len(text) else ""
    return f"{dots}{text[first : first + MOST_SHOWN]}{end}", start - first + len(dots)


def _line_of(span: Span, sources: Mapping[str, str] | None) -> str | None:
    if sources is None or span.file not in sources:
        return None
    lines = sources[span.file].splitlines()
    return lines[span.line - 1] if 0 < span.line <= len(lines) else None


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


def span_at(file: str, source: str, start: int, end: int | None = None) -> Span:
    """Return the span of `source[start:end]`, truncated at the end of its line; of one character if `end` is None."""
    start = min(start, len(source))
    line_start = source.rfind("\n", 0, start) + 1
    line_end = source.find("\n", start)
    if line_end < 0:
        line_end = len(source)
    length = max(1, min(end if end is not None else start + 1, line_end) - start)
    return Span(file, 1 + source.count("\n", 0, start), start - line_start + 1, length, source[line_start:line_end])
