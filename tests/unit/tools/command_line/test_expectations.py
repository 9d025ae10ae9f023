"""Comparison of diagnostics with the `expected-error` comments of a program."""

from __future__ import annotations

from sdy.diagnostics.diagnostic import Diagnostic, Note, Severity, Span
from sdy.tools.command_line.expectations import parse_expectations, unmet

TEXT = "// expected-error @+1 {{broken}}\n%0 = op\n"


def at_line(line: int) -> Span:
    return Span("file.mlir", line, 1)


def complaints(*diagnostics: Diagnostic, text: str = TEXT) -> list[str]:
    return [each.message for each in unmet(parse_expectations("file.mlir", text, 1), diagnostics)]


def test_an_expected_error_may_have_notes_that_are_not_expected() -> None:
    error = Diagnostic("SDY-P001", "it is broken", at_line(2), notes=(Note("see here", at_line(1)),))
    assert complaints(error) == []
    remark = Diagnostic("SDY-P001", "a remark", at_line(1), severity=Severity.REMARK)
    assert complaints(error, remark) == []


def test_an_expected_note_must_be_reported() -> None:
    text = "// expected-note @below {{defined here}}\n" + TEXT
    error = Diagnostic("SDY-P001", "it is broken", at_line(3))
    assert complaints(error, text=text) == ["expected note was not reported"]


def test_errors_and_warnings_must_be_expected() -> None:
    error = Diagnostic("SDY-P001", "it is broken", at_line(2))
    other = Diagnostic("SDY-P001", "something else", at_line(2))
    warning = Diagnostic("SDY-P001", "it is broken", at_line(2), severity=Severity.WARNING)
    assert complaints(error, other) == ["unexpected error: something else"]
    assert complaints(error, warning) == ["unexpected warning: it is broken"]
