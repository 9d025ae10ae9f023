"""Errors in Python code of users that sdy runs: modules that `--load` imports, passes, rules, kernels and verifiers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from linecache import getline
from types import TracebackType
from typing import cast

from sdy.diagnostics.diagnostic import Diagnostic, Note, SdyError, Span

OWN_PACKAGE = "sdy"
_LIBRARIES = (OWN_PACKAGE, "xdsl", "numpy")


def is_code_of_user(kind: object, *, or_of_xdsl: bool = False) -> bool:
    """Return whether a class or function is defined outside of sdy, and outside of xDSL unless `or_of_xdsl`."""
    package = kind.__module__.partition(".")[0]
    return package != OWN_PACKAGE and (or_of_xdsl or package != "xdsl")


def user_code_error(code: str, action: str, error: Exception, hint: str, *, at: Span | None = None) -> SdyError:
    """Return the diagnostic of an exception, at the last line of the user's code that led to it.

    `action` says what the code was doing, and `at` is the op that it was called for. The log has the traceback. The
    diagnostic has no location if no code of the user was running.
    """
    if "logging" in sys.modules:  # otherwise nobody reads the log, and importing it would take long
        import_module("logging").getLogger(__name__).debug("%s raised an exception", action, exc_info=error)
    described = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    notes = () if at is None else (Note("called for this op", at),)
    return SdyError(Diagnostic(code, f"{action} raised {described}", _span_of(error), hint, notes))


def _span_of(error: Exception) -> Span | None:
    if isinstance(error, SyntaxError) and error.filename is not None and error.lineno is not None:
        text = (error.text or "").rstrip("\n")
        return Span(error.filename, error.lineno, error.offset or 1, text=text)
    found: Span | None = None
    traceback = error.__traceback__
    while traceback is not None:
        if not _is_in_library(traceback):
            found = _line_of(traceback)
        traceback = traceback.tb_next
    return found


def _is_in_library(traceback: TracebackType) -> bool:
    """Return whether the code is part of sdy, xDSL, NumPy or the standard library, rather than of the user."""
    frame = traceback.tb_frame
    if str(frame.f_globals.get("__name__")).partition(".")[0] in _LIBRARIES:
        return True
    file = frame.f_code.co_filename
    standard = import_module("sysconfig").get_path("stdlib")
    return file.startswith("<frozen ") or (file.startswith(standard) and "site-packages" not in file)


def _line_of(traceback: TracebackType) -> Span:
    file, line = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
    text = getline(file, line).rstrip("\n")
    return Span(file, line, len(text) - len(text.lstrip()) + 1, max(1, len(text.strip())), text)


def require_type(value: object, kinds: type | tuple[type, ...], where: str, hint: str | None = None) -> None:
    """Raise SdyError SDY-T213 unless `value` has one of the types.

    `where` names the parameter, such as "sdy.load: path".
    """
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if not isinstance(value, kinds):
        raise wrong_type(value, " or ".join(kind.__name__ for kind in kinds), where, hint)


def require_callable(value: Callable[..., object], where: str, hint: str | None = None) -> None:
    """Raise SdyError SDY-T213 unless `value` is callable."""
    if not callable(value):
        raise wrong_type(value, "a function", where, hint)


def require_tuple_of(value: object, kind: type, where: str, hint: str | None = None) -> None:
    """Raise SdyError SDY-T213 unless `value` is a tuple whose elements have the type."""
    elements = cast("tuple[object, ...]", value)
    if not isinstance(value, tuple) or not all(isinstance(each, kind) for each in elements):
        raise wrong_type(elements, f"a tuple of {kind.__name__}", where, hint)


def require_subclass(value: object, base: type, where: str) -> None:
    """Raise SdyError SDY-T213 unless `value` is a class derived from `base`."""
    if not isinstance(value, type) or not issubclass(value, base):
        raise wrong_type(value, f"a class derived from {base.__module__}.{base.__name__}", where)


def wrong_type(value: object, expected: str, where: str, hint: str | None = None) -> SdyError:
    """Return the error for an argument that is not what the parameter expects."""
    shown = repr(value)
    shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
    return SdyError(
        Diagnostic("SDY-T213", f"{where}: expected {expected}, got {shown} ({type(value).__name__})", hint=hint)
    )
