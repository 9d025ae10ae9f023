"""A line at the bottom of a terminal that says what a long computation does now, and for how long it has run."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from shutil import get_terminal_size
from threading import Event, RLock, Thread
from typing import Any, TextIO

from sdy.diagnostics.progress import listening

DELAY = 2.0  # seconds before the line is shown
INTERVAL = 0.2  # seconds between two updates
_CLEAR = "\r\033[K"


@contextmanager
def show_progress(delay: float = DELAY) -> Generator[None]:
    """Show on standard error, if it is a terminal, what runs now, once that has taken `delay` seconds.

    The line is removed at the end, and before anything else is printed.
    """
    if not sys.stderr.isatty():
        yield
        return
    line = _ProgressLine(sys.stderr, delay)
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_ClearingStream(each, line) for each in streams)
    try:
        with listening(line.step):
            yield
    finally:
        line.stop()
        sys.stdout, sys.stderr = streams


class _ProgressLine:
    """The line, which a thread of its own updates."""

    def __init__(self, stream: TextIO, delay: float) -> None:
        self._stream = stream
        self._delay = delay
        self._started = time.monotonic()
        self._step = ""
        self._is_shown = False
        self._lock = RLock()  # one thread may clear the line while it writes
        self._ended = Event()
        Thread(target=self._update, daemon=True).start()

    def step(self, text: str) -> None:
        """Show another step from now on."""
        self._step = text

    def clear(self) -> None:
        """Remove the line until the next step."""
        with self._lock:
            self._step = ""
            if self._is_shown:
                self._stream.write(_CLEAR)
                self._stream.flush()
                self._is_shown = False

    def stop(self) -> None:
        """Remove the line for good."""
        self._ended.set()
        self.clear()

    def _update(self) -> None:
        wait = self._delay
        while not self._ended.wait(wait):
            wait = INTERVAL
            with self._lock:
                if self._step and not self._ended.is_set():
                    text = f"{time.monotonic() - self._started:.0f} s: {self._step}"
                    self._stream.write(_CLEAR + text[: get_terminal_size().columns - 1])
                    self._stream.flush()
                    self._is_shown = True


class _ClearingStream:
    """A stream that removes the line before it writes; otherwise, the stream that it stands for."""

    def __init__(self, stream: TextIO, line: _ProgressLine) -> None:
        self._stream = stream
        self._line = line

    def write(self, text: str) -> int:
        self._line.clear()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
