"""Errors of an op while it is compiled or run. The executor, which knows the op, adds its location."""

from __future__ import annotations

from sdy.diagnostics.diagnostic import Diagnostic, SdyError


def failure(code: str, message: str, hint: str | None = None) -> SdyError:
    """Return an error without a location, for a kernel to raise."""
    return SdyError(Diagnostic(code, message, hint=hint))
