"""Diagnostics as an editor shows them: a range in the text, and a message that has the hint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sdy.diagnostics.diagnostic import Diagnostic, Severity, Span
from sdy.language_server.text.document import Document, LineMap, Position

REFERENCE = "https://sdy-dev.github.io/sdy/reference/diagnostics/"


@dataclass(frozen=True, slots=True)
class Location:
    """A part of a text, and what a diagnostic says about it."""

    start: Position
    end: Position
    message: str

    def moved(self, lines: LineMap) -> Location | None:
        """Return the same location in a newer version of the text; None if its line has changed."""
        line = lines.to_new(self.start.line)
        if line is None:
            return None
        return replace(self, start=Position(line, self.start.column), end=Position(line, self.end.column))


@dataclass(frozen=True, slots=True)
class Problem:
    """A diagnostic of a text, and what its notes say about other locations in the text."""

    code: str
    severity: Severity
    location: Location
    related: tuple[Location, ...] = ()

    @property
    def page(self) -> str | None:
        """The address of the page that describes the code; None for the code of an extension."""
        return f"{REFERENCE}#{self.code.lower()}" if self.code.startswith("SDY-") else None

    def moved(self, lines: LineMap) -> Problem | None:
        """Return the same problem in a newer version of the text; None if its line has changed."""
        location = self.location.moved(lines)
        if location is None:
            return None
        related = (each.moved(lines) for each in self.related)
        return replace(self, location=location, related=tuple(each for each in related if each is not None))


def problems(diagnostics: Iterable[Diagnostic], document: Document, file: str) -> Iterator[Problem]:
    """Yield the diagnostics of a text; those without a location are on the first line."""
    for diagnostic in diagnostics:
        lines = [diagnostic.message]
        related: list[Location] = []
        for note in diagnostic.notes:
            if note.span is not None and note.span.file == file:
                related.append(_location(note.span, document, note.message))
            else:
                lines.append(f"note: {note.message}")
        if diagnostic.hint:
            lines.append(f"hint: {diagnostic.hint}")
        span = diagnostic.span if diagnostic.span is not None and diagnostic.span.file == file else Span(file, 1, 1)
        yield Problem(diagnostic.code, diagnostic.severity, _location(span, document, "\n".join(lines)), tuple(related))


def _location(span: Span, document: Document, message: str) -> Location:
    """Return the location of a span; that of an op, which is one character, is extended to the name of the op."""
    start = Position(span.line - 1, span.column - 1)
    length = span.length
    if length == 1:
        offset = document.offset(start)
        token = document.token_at(offset)
        if token is not None and token.start == offset:
            length = len(token.text)
    return Location(start, Position(start.line, start.column + length), message)
