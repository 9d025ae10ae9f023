"""Errors of an op while it is compiled or run. The executor, which knows the op, adds its location."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.dialects.ir.op_location import span_of


def failure(code: str, message: str, hint: str | None = None) -> SdyError:
    """Return an error without a location, for a kernel to raise."""
    return SdyError(Diagnostic(code, message, hint=hint))


def located(error: SdyError, op: Operation) -> SdyError:
    """Return the error with the location of `op` in those diagnostics that have none."""
    if all(diagnostic.span is not None for diagnostic in error.diagnostics):
        return error
    span = span_of(op)
    return SdyError(*(replace(found, span=found.span or span) for found in error.diagnostics))
