"""Renders diagnostics as text: `file:line:column: error: message [code]`, the line, a caret, notes and the hint."""

from __future__ import annotations

from collections.abc import Mapping

from sdy.diagnostics.diagnostic import Diagnostic
from sdy.diagnostics.span import Span


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
    lines = [f"{span.file}:{span.line}:{span.column}: {headline}"]
    text = span.text if span.text is not None else _line_of(span, sources)
    if text is not None:
        # Copy the tabs of the line into the margin, so that the caret is aligned for any tab width.
        margin = "".join("\t" if character == "\t" else " " for character in text[: span.column - 1])
        lines += [f"  {text}", f"  {margin}{'^' * span.length}"]
    return lines


def _line_of(span: Span, sources: Mapping[str, str] | None) -> str | None:
    if sources is None or span.file not in sources:
        return None
    lines = sources[span.file].splitlines()
    return lines[span.line - 1] if 0 < span.line <= len(lines) else None
