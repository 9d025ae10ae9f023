"""Checks of the types of arguments that Python programs pass to the public functions of sdy."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sdy.diagnostics.diagnostic import Diagnostic, SdyError


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
