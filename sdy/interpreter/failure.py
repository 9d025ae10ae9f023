"""Errors of an op while it is compiled or run. The executor, which knows the op, adds its location."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sdy.diagnostics.diagnostic import Diagnostic, SdyError

MAX_ELEMENTS = 2**44  # of an array


def failure(code: str, message: str, hint: str | None = None) -> SdyError:
    """Return an error without a location, for a kernel to raise."""
    return SdyError(Diagnostic(code, message, hint=hint))


def check_size(shape: Sequence[int]) -> None:
    """Raise MemoryError for a shape with more elements than fit in any memory, for which NumPy has other errors."""
    if prod(shape) > MAX_ELEMENTS:
        raise MemoryError(f"unable to allocate an array of shape {tuple(shape)}")


def out_of_memory(error: MemoryError) -> SdyError:
    """Return the error, without a location, for an allocation that failed."""
    reason = str(error) or "unable to allocate an array"
    return failure("SDY-X017", f"not enough memory: {reason[:1].lower()}{reason[1:]}")
