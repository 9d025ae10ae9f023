"""The exit codes of the commands, which are stable: scripts may rely on them.

A pipe breaks if the program that reads the output of a command exits early, as `head` does, which is not a failure.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from threading import current_thread, main_thread

from sdy.diagnostics.diagnostic import Diagnostic, SdyError, render
from sdy.interpreter.failure import out_of_memory

SUCCESS = 0
NO = 1
NOT_RUN = 2
INTERRUPTED = 130  # what shells report after Ctrl-C
BROKEN_PIPE = 141  # what shells report for a command ended by SIGPIPE

MEANINGS = {
    SUCCESS: "The command did what it was asked to. A check holds: outputs agree, nothing was found, nothing differs.",
    NO: "A check says no: `verify` and `report --with` found other results, `verify --prove` an op without a proof, "
    "`check` a broken bound, `audit` an unsound rule, `lint` a finding, `diff` a difference. No other one returns it.",
    NOT_RUN: "The command could not be run: wrong arguments, a file that cannot be read or written, a program that is "
    "invalid or unsupported, or nothing to do. The diagnostics on standard error say why.",
    INTERRUPTED: "Ctrl-C.",
    BROKEN_PIPE: "The program that reads the output ended first, as `head` does.",
}
TOOL_MEANINGS = {
    SUCCESS: "Every program of the file was processed.",
    NO: "An error, as in the tools of MLIR: wrong arguments, a file or a program that is invalid, a pass that failed, "
    "or diagnostics that differ from the expected ones.",
    INTERRUPTED: MEANINGS[INTERRUPTED],
    BROKEN_PIPE: MEANINGS[BROKEN_PIPE],
}


def status_of(run: Callable[[], int], *, failure: int = NOT_RUN) -> int:
    """Return the exit code that `run` returns, or `failure` after an error, whose diagnostics are printed."""
    try:
        return run()
    except SdyError as error:
        print_diagnostics(error.diagnostics)
        return failure
    except MemoryError as error:
        print_diagnostics(out_of_memory(error).diagnostics)
        return failure
    except KeyboardInterrupt:
        return INTERRUPTED


def print_diagnostics(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str] | None = None) -> None:
    """Print diagnostics to standard error, with the lines of `sources`, the texts of files that were read."""
    for diagnostic in diagnostics:
        print(render(diagnostic, sources), file=sys.stderr)


@contextmanager
def interrupted_by_termination() -> Generator[None]:
    """Let the signal SIGTERM end what runs inside as Ctrl-C does, if this is the thread that gets signals."""
    if current_thread() is not main_thread():
        yield
        return
    handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


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
