"""Errors in a text of the sharding notation: by offset while it is read, by line and column in diagnostics."""

from __future__ import annotations

from typing import NamedTuple

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, span_at


class NotationError(Exception):
    """An error in a text of the sharding notation. Offsets count from the start of the text that was read."""

    def __init__(self, code: str, message: str, start: int, end: int | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = end
        self.hint = hint


class SourceText(NamedTuple):
    """The location of a text: `text[start:]` of a file, or a separate string."""

    file: str
    text: str
    start: int = 0

    def error(self, error: NotationError) -> SdyError:
        """Return the error for the user, with line and column in the file."""
        end = None if error.end is None else self.start + error.end
        span = span_at(self.file, self.text, self.start + error.start, end)
        return SdyError(Diagnostic(error.code, error.message, span, error.hint))
