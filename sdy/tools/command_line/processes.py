"""The option `--processes`, and the results of runs in parallel processes, in order."""

from __future__ import annotations

import io
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from sdy.program.parallel.processes import Processes
from sdy.tools.command_line.extensions import import_extensions

T = TypeVar("T")
R = TypeVar("R")


def add_processes_argument(parser: ArgumentParser, condition: str = "") -> None:
    """Add `--processes`, which has a meaning under a condition such as `with --sweep: `."""
    help_text = f"{condition}number of parallel processes (default: one per core)"
    parser.add_argument("--processes", metavar="N", type=_count, help=help_text)


def _count(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise ArgumentTypeError(f"expected a count of processes, got {text!r}")
    return int(text)


@dataclass(frozen=True, slots=True)
class Captured(Generic[R]):
    """The result of a run, and what it wrote to standard output and to standard error."""

    result: R
    output: str
    errors: str


def captured(run: Callable[[T], R], item: T) -> Captured[R]:
    """Return the result of `run(item)`, and what it printed."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        result = run(item)
    return Captured(result, output.getvalue(), errors.getvalue())


def run_in_processes(
    run: Callable[[T], R], items: Sequence[T], processes: int | None, extensions: Sequence[str] = ()
) -> Iterator[R]:
    """Yield `run(item)` for each item, in order; see `Processes` for the errors.

    The processes import the modules of `extensions` first. With one process, this process runs all.
    """
    if processes == 1:
        yield from map(run, items)
        return
    with Processes(processes, partial(import_extensions, extensions)) as pool:
        for future in [pool.submit(partial(run, item)) for item in items]:
            yield future.result()
