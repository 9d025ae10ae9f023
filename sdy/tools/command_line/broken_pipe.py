"""Handles a broken pipe: the program that reads the output of a command exits early, as `head` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps

from sdy.tools.command_line.exit_codes import BROKEN_PIPE

Main = Callable[[Sequence[str] | None], int]


def quiet_on_broken_pipe(main: Main) -> Callable[..., int]:
    """Decorate `main` to exit silently with code 141 when what it prints to is closed."""

    @wraps(main)
    def quiet(args: Sequence[str] | None = None) -> int:
        try:
            try:
                return main(args)
            finally:
                sys.stdout.flush()  # flush here, where an error is caught, not when Python exits
        except BrokenPipeError:
            _discard_output()
            return BROKEN_PIPE

    return quiet


def _discard_output() -> None:
    """Discard what closed streams still hold, because Python flushes them again at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
