"""Where in the user's text an op stands."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from sdy.diagnostics.span import Span


def span_of(op: Operation) -> Span | None:
    """The place at which the op begins; None where it comes from no text."""
    location = op.location
    if not isinstance(location, FileLineColLoc):
        return None
    return Span(location.filename.data, location.line.data, location.column.data)
