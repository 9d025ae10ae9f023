"""A diagnostic: a code, a place, what is wrong with both values, and a way out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sdy.diagnostics.codes import CODES
from sdy.diagnostics.span import Span


class Severity(Enum):
    """How bad it is. The value is the word that the rendered line shows."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Note:
    """Something elsewhere in the text that explains a diagnostic."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message to the user. `code` is a key of `CODES`.

    Raises: InternalError where the code is not listed.
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
    """A mistake of the user's, in one or more diagnostics, in the order found."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(diagnostic.message for diagnostic in diagnostics))
        self.diagnostics = diagnostics


class InternalError(Exception):
    """A broken promise of ours: never the user's fault."""
