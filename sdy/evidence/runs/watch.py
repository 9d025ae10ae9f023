"""The observer of a run, which shows its progress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from xdsl.dialects.func import FuncOp

from sdy.interpreter.executor import OpObserver

Watch = Callable[[str, FuncOp], AbstractContextManager[OpObserver | None]]
"""Called with the name of a run and its function; the observer is called after each op until the context ends."""


def unwatched(name: str, function: FuncOp) -> AbstractContextManager[OpObserver | None]:
    """Return a context without an observer."""
    return nullcontext()
