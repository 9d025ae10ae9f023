"""Run several programs cooperatively: one at a time, until it ends or waits for an event in another one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
Ready = Callable[[], bool]


class Lockstep(Generic[T]):
    """Runs tasks cooperatively, each in its own thread. The schedule is deterministic: the first ready task runs."""

    def __init__(self, tasks: Sequence[Callable[[], T]]) -> None:
        self._tasks = tasks
        self._changed = threading.Condition()
        self._current: int | None = 0
        self._ready: dict[int, Ready] = dict.fromkeys(range(len(tasks)), _always)
        self._results: dict[int, T] = {}
        self._errors: dict[int, BaseException] = {}

    def run(self) -> list[T]:
        """Run all tasks and return their results in order. Raises: the exception of the first task that failed."""
        # Daemon threads: an interrupt of the waiting thread must end the run without waiting for the tasks.
        threads = [
            threading.Thread(target=self._run_task, args=(index,), daemon=True) for index in range(len(self._tasks))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._results[index] for index in range(len(self._tasks))]

    def wait_until(self, ready: Ready) -> bool:
        """Let other tasks run until `ready()`; return False if all of them wait. A running task calls this."""
        if ready():
            return True
        with self._changed:
            index = self._current
            assert index is not None
            self._ready[index] = ready
            self._resume_next()
            self._changed.wait_for(lambda: self._current == index or self._current is None)
            self._ready[index] = _always
            if self._current is None:
                self._current = index
                return False
        return True

    def _run_task(self, index: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._current == index)
        try:
            self._results[index] = self._tasks[index]()
        except BaseException as error:  # noqa: BLE001 -- raised again by run(), in the thread that waits for this one
            self._errors[index] = error
        with self._changed:
            del self._ready[index]
            self._resume_next()

    def _resume_next(self) -> None:
        """Make the first ready task the current one; no task is current if every one left waits."""
        self._current = next((index for index, ready in self._ready.items() if ready()), None)
        self._changed.notify_all()


def _always() -> bool:
    return True
