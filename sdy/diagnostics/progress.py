"""Notes of what a long computation does now, for whoever shows them.

Computations call `note_step`, which costs nothing if nobody listens. Steps inside `stage` are parts of it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic

Listener = Callable[[str], None]

_listeners: list[Listener] = []
_stages: list[str] = []


def note_step(text: str) -> None:
    """Tell the listeners that a step starts."""
    if _listeners:
        step = ": ".join([*_stages, text])
        for each in _listeners:
            each(step)


@contextmanager
def stage(text: str) -> Generator[None]:
    """Name what the steps inside are part of."""
    note_step(text)
    _stages.append(text)
    try:
        yield
    finally:
        _stages.pop()


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Call `listener` with each step inside."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


class TimeUpError(Exception):
    """The time limit of a long computation has passed."""


@contextmanager
def stopping_at(end: float) -> Generator[None]:
    """Stop what runs inside at its first step after `end`, a time of `monotonic`. Raises: TimeUpError."""

    def check(_: str) -> None:
        if monotonic() > end:
            raise TimeUpError

    with listening(check):
        yield
