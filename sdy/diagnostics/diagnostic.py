"""Diagnostics: a code, a message, the location of the error and a hint; and the exceptions that carry them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sdy.diagnostics.codes import CODES
from sdy.diagnostics.span import Span


class Severity(Enum):
    """The severity of a diagnostic. The value is the text that the rendered line shows."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Note:
    """A remark attached to a diagnostic, usually about another location in the text."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message to the user. `code` is a key of `CODES`.

    Raises: InternalError if the code is not listed.
    """

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise InternalError(f"diagnostic code {self.code} is not listed in sdy/diagnostics/codes.py")


class SdyError(Exception):
    """An error in the user's input, described by one or more diagnostics in the order in which they were found."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(diagnostic.message for diagnostic in diagnostics))
        self.diagnostics = diagnostics


class InternalError(Exception):
    """A violated invariant of sdy, which is always a bug in sdy and never an error of the user."""
