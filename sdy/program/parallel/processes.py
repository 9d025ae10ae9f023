"""Processes that run functions in parallel.

They are started anew, because a fork of this process would lack its threads, and they do not see Ctrl-C: this process
stops them. If one ends by itself, only the run that it was busy with has no result.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock
from types import TracebackType
from typing import Self, TypeVar, cast

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.diagnostics.wording import exit_text

R = TypeVar("R")
Run = Callable[[], R]  # a partial function of a module, which can be sent to another process
Answer = tuple[object, SdyError | None]  # the result of a run, its error

_WORKER = "sdy.program.parallel.worker"


def answered(run: Run[object]) -> Answer:
    """Return the result of a run, or its error."""
    try:
        return run(), None
    except SdyError as error:
        return None, error


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """Up to `count` processes, by default one per core, each of which runs `prepare` first.

    A context manager, at whose end the processes are stopped.
    """

    def __init__(self, count: int | None = None, prepare: Run[object] | None = None) -> None:
        self._prepare = prepare
        self._threads = ThreadPoolExecutor(count or core_count())  # each waits for one process
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._all: list[_Worker] = []
        self._starting = Lock()
        self._is_ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._starting:
            self._is_ended = True
        for worker in self._all:
            worker.stop()
        self._threads.shutdown()
        for worker in self._all:
            worker.close()

    def submit(self, run: Run[R]) -> Future[R]:
        """Return the future result of a run.

        It raises the SdyError that `run` raises, or SDY-T262 if the process ends before its answer. A process that
        ends because of another exception writes a traceback to standard error.
        """
        return self._threads.submit(self._result, run)

    def _result(self, run: Run[R]) -> R:
        worker = self._free_worker()
        result, error = worker.answer(run)
        self._idle.put(worker)
        if error is not None:
            raise error
        return cast(R, result)

    def _free_worker(self) -> _Worker:
        try:
            return self._idle.get_nowait()
        except Empty:
            with self._starting:
                if self._is_ended:
                    raise CancelledError from None
                worker = _Worker()
                self._all.append(worker)
        if self._prepare is not None:
            _, error = worker.answer(self._prepare)
            if error is not None:
                raise error
        return worker


class _Worker:
    """A process that runs functions one after another, and imports modules from where this process does."""

    def __init__(self) -> None:
        path = os.pathsep.join(map(os.path.abspath, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},  # not from the working folder
            start_new_session=True,  # the terminal does not interrupt it
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._runs, self._answers = self._process.stdin, self._process.stdout

    def answer(self, run: Run[object]) -> Answer:
        """Return the result or the error of a run. Raises: SdyError SDY-T262 if the process ends before."""
        try:
            pickle.dump(run, self._runs)
            self._runs.flush()
            return cast(Answer, pickle.load(self._answers))
        except (EOFError, OSError, pickle.UnpicklingError):
            status = self._process.wait()
            hint = "the system ends processes when memory is full: run fewer at a time"
            raise SdyError(Diagnostic("SDY-T262", f"a process {exit_text(status)}", hint=hint)) from None

    def stop(self) -> None:
        """End the process, even while it runs something."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the pipes to a process that has ended."""
        self._answers.close()
        with suppress(BrokenPipeError):  # a run that was not read
            self._runs.close()
