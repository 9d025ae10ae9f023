"""The location of an op in the user's text."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from sdy.diagnostics.span import Span


def span_of(op: Operation) -> Span | None:
    """Return the location at which the op begins, or None if it does not come from text."""
    location = op.location
    if not isinstance(location, FileLineColLoc):
        return None
    return Span(location.filename.data, location.line.data, location.column.data)
