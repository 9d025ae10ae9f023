"""Errors in Python code of users that sdy runs: modules that `--load` imports, and registered passes."""

from __future__ import annotations

from importlib import import_module
from linecache import getline

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.span import Span

OWN_PACKAGE = "sdy"


def is_code_of_user(kind: type) -> bool:
    """Return whether a class is defined outside of sdy."""
    return kind.__module__.partition(".")[0] != OWN_PACKAGE


def user_code_error(code: str, action: str, error: Exception, hint: str) -> SdyError:
    """Return the diagnostic of an exception, at the line that raised it: `action` says what the code was doing."""
    described = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return SdyError(Diagnostic(code, f"{action} raised {described}", _span_of(error), hint))


def _span_of(error: Exception) -> Span | None:
    if isinstance(error, SyntaxError) and error.filename is not None and error.lineno is not None:
        text = (error.text or "").rstrip("\n")
        return Span(error.filename, error.lineno, error.offset or 1, text=text)
    frames = import_module("traceback").extract_tb(error.__traceback__)  # imported here, because it takes long
    if not frames:
        return None
    frame = frames[-1]
    line = frame.lineno or 1
    text = getline(frame.filename, line).rstrip("\n")
    return Span(frame.filename, line, len(text) - len(text.lstrip()) + 1, max(1, len(text.strip())), text)
