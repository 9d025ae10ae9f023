"""The location of an op or of an argument in the user's text."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr
from xdsl.ir import BlockArgument, Operation

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError, Span
from sdy.diagnostics.user_code import user_code_error


def span_of(op: Operation) -> Span | None:
    """Return the location at which the op begins, or None if it does not come from text.

    An op that the text does not list, as in the short form of a reduction, has the location of the op around it.
    """
    return _span(op.location, op.parent_op())


def span_of_argument(argument: BlockArgument) -> Span | None:
    """Return the location of the name of an argument, or that of the op around it if the text does not list it."""
    return _span(argument.location, argument.block.parent_op())


def _span(location: LocationAttr, around: Operation | None) -> Span | None:
    if isinstance(location, FileLineColLoc):
        return Span(location.filename.data, location.line.data, location.column.data)
    return None if around is None else span_of(around)


def error_at(op: Operation, code: str, message: str, hint: str | None = None, notes: tuple[Note, ...] = ()) -> SdyError:
    """Return the error at an op."""
    return SdyError(Diagnostic(code, message, span_of(op), hint, notes))


def located(error: SdyError, op: Operation) -> SdyError:
    """Return the error with the location of `op` in those diagnostics that have none."""
    if all(diagnostic.span is not None for diagnostic in error.diagnostics):
        return error
    span = span_of(op)
    return SdyError(*(replace(found, span=found.span or span) for found in error.diagnostics))


def user_code_error_at(op: Operation, code: str, action: str, error: Exception, hint: str) -> SdyError:
    """Return the diagnostic of an exception in code of the user that was called for an op; see `user_code_error`."""
    return located(user_code_error(code, action, error, hint, at=span_of(op)), op)
