"""Diagnostics as annotations of GitHub Actions.

Source: docs.github.com, "Workflow commands for GitHub Actions", setting an error message.
"""

from __future__ import annotations

from sdy.diagnostics.diagnostic import Diagnostic, Severity

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.REMARK: "notice", Severity.NOTE: "notice"}


def annotation(diagnostic: Diagnostic) -> str:
    """Return the line that makes GitHub show a diagnostic at its location, or at that of its first located note."""
    notes = [note.message for note in diagnostic.notes]
    span = next((each for each in (diagnostic.span, *(note.span for note in diagnostic.notes)) if each), None)
    where = "" if span is None else f"file={_property(span.file)},line={span.line},col={span.column},"
    hint = [f"hint: {diagnostic.hint}"] if diagnostic.hint else []
    message = "\n".join([diagnostic.message, *notes, *hint])
    return f"::{LEVELS[diagnostic.severity]} {where}title={_property(diagnostic.code)}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
