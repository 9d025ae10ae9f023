"""Compares the diagnostics of a program with the expectations in its comments: `// expected-error @+1 {{text}}`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sdy.diagnostics.diagnostic import Diagnostic, Severity, Span

_EXPECTATION = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)?[ ]*"
    r"(?:@(?P<where>[+-][0-9]+|above|below|unknown))?[ ]*\{\{(?:\}\}.*|(?P<text>.*)\}\}[ ]*)$"
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """A comment that expects a diagnostic on `line`, or without a location if `line` is None."""

    severity: Severity
    line: int | None
    pattern: re.Pattern[str]
    comment: Span

    def is_met_by(self, message: Message) -> bool:
        """Return whether the message has the expected severity, line and text."""
        is_at_line = (message.severity, message.line) == (self.severity, self.line)
        return is_at_line and self.pattern.search(message.text) is not None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a diagnostic: its main message, or one of its notes."""

    severity: Severity
    line: int | None
    text: str
    span: Span | None


def parse_expectations(file: str, text: str, first_line: int) -> list[Expectation]:
    """Return the expectations in the comments of a text whose first line is line `first_line` of `file`.

    Empty braces, whatever follows them, expect any message. `@above` and `@below` refer to the nearest line without an
    expectation.
    """
    expectations: list[Expectation] = []
    lines = text.split("\n")
    matches = [_EXPECTATION.search(line) for line in lines]
    plain = [index for index, match in enumerate(matches) if match is None]
    for index, match in enumerate(matches):
        if match is not None:
            target = _target(match["where"], index, plain)
            comment = Span(file, first_line + index, match.start() + 1, match.end() - match.start(), lines[index])
            pattern = _pattern(match["text"] or "", is_regex=match["regex"] is not None)
            line = None if target is None else first_line + target
            expectations.append(Expectation(Severity(match["severity"]), line, pattern, comment))
    return expectations


def unmet(expectations: Sequence[Expectation], diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return an error for each expectation that no diagnostic meets, and for each unexpected error or warning.

    One diagnostic may meet several expectations, and several diagnostics may meet one expectation. Remarks and notes
    need no expectation: a note only adds another location to its diagnostic, and other tools may attach fewer notes.
    """
    messages = [message for diagnostic in diagnostics for message in _messages(diagnostic)]
    missing = [
        Diagnostic("SDY-T006", f"expected {expectation.severity.value} was not reported", expectation.comment)
        for expectation in expectations
        if not any(expectation.is_met_by(message) for message in messages)
    ]
    unexpected = [
        Diagnostic("SDY-T007", f"unexpected {message.severity.value}: {message.text}", message.span)
        for message in messages
        if not any(expectation.is_met_by(message) for expectation in expectations)
        and message.severity in (Severity.ERROR, Severity.WARNING)
    ]
    return missing + unexpected


def _messages(diagnostic: Diagnostic) -> Iterator[Message]:
    yield Message(diagnostic.severity, _line_of(diagnostic.span), diagnostic.message, diagnostic.span)
    for note in diagnostic.notes:
        yield Message(Severity.NOTE, _line_of(note.span), note.message, note.span)


def _line_of(span: Span | None) -> int | None:
    return None if span is None else span.line


def _target(where: str | None, index: int, plain: Sequence[int]) -> int | None:
    """Return the line that an expectation on line `index` refers to, both counted from 0; None for @unknown."""
    match where:
        case None:
            return index
        case "unknown":
            return None
        case "above":
            return max((line for line in plain if line < index), default=index)
        case "below":
            return min((line for line in plain if line > index), default=index)
        case offset:
            return index + int(offset)


def _pattern(text: str, is_regex: bool) -> re.Pattern[str]:
    """Return a pattern for the text, in which the double braces of a regex expectation enclose regular expressions."""
    parts = re.split(r"\{\{(.*?)\}\}", text) if is_regex else [text]
    return re.compile("".join(part if index % 2 else re.escape(part) for index, part in enumerate(parts)))
