"""Several programs that take turns: one runs at a time, until it ends or waits for something that another one does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
Ready = Callable[[], bool]


class Turns(Generic[T]):
    """Runs tasks in turns, each in a thread of its own. The order is always the same: the first that can go on does."""

    def __init__(self, tasks: Sequence[Callable[[], T]]) -> None:
        self._tasks = tasks
        self._changed = threading.Condition()
        self._current: int | None = 0
        self._ready: dict[int, Ready] = dict.fromkeys(range(len(tasks)), _always)
        self._results: dict[int, T] = {}
        self._errors: dict[int, BaseException] = {}

    def run(self) -> list[T]:
        """What the tasks give, in order. Raises: what the first task raises that fails."""
        # Daemons: who interrupts the thread that waits here does not want to wait for them either.
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
        """Lets the others go on until `ready()`; False where none of them can make it so. Called by a running task."""
        if ready():
            return True
        with self._changed:
            index = self._current
            assert index is not None
            self._ready[index] = ready
            self._pass_on()
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
            self._pass_on()

    def _pass_on(self) -> None:
        """Gives the turn to the first task that can go on; None where every one left waits for another."""
        self._current = next((index for index, ready in self._ready.items() if ready()), None)
        self._changed.notify_all()


def _always() -> bool:
    return True
