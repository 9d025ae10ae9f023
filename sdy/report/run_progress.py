"""A progress bar for long runs: the number of completed ops of the main function, and the last op."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from sdy.interpreter.executor import OpObserver
from sdy.interpreter.kernel import Arrays, KernelContext

DELAY = 2.0  # seconds before the bar is shown


class RunProgress:
    """A context manager that shows a progress bar on `console` after `DELAY` seconds, and removes it at the end."""

    def __init__(
        self, function: FuncOp, console: Console, clock: Callable[[], float] = time.monotonic, name: str = ""
    ) -> None:
        self._prefix = f"{name}: " if name else ""
        self._body = function.body.block
        self._total = len(self._body.ops)
        self._clock = clock
        self._started = clock()
        self._done = 0
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar.tasks:
            self._bar.stop()

    def observe(self, context: KernelContext, op: Operation, results: Arrays) -> None:
        """Count an op of the function body. Ops in loops are not counted: their number of runs is unknown."""
        self._done += op.parent is self._body
        if not self._bar.tasks:
            if self._clock() - self._started < DELAY:
                return
            self._bar.add_task("", total=self._total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=self._done, description=self._prefix + op.name)


@contextmanager
def terminal_progress(name: str, function: FuncOp) -> Generator[OpObserver | None]:
    """Show the progress of a run on standard error if that is a terminal; yield the observer to run with, or None."""
    console = Console(stderr=True)
    with RunProgress(function, console, name=name) as progress:
        yield progress.observe if console.is_terminal else None
