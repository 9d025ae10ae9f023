"""Worker processes: answers, errors, ends."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from sdy.diagnostics.diagnostic import Diagnostic, SdyError
from sdy.language_server.worker import Worker, WorkerError, WorkerStoppedError


class Counter:
    """A service with a state."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, number: int) -> int:
        self._count += number
        return self._count

    def fail(self) -> None:
        raise SdyError(Diagnostic("SDY-P001", "a mistake"))

    def crash(self) -> None:
        raise ZeroDivisionError

    def wait(self) -> None:
        time.sleep(60)

    def process(self) -> int:
        return os.getpid()


@pytest.mark.asyncio
async def test_a_worker_keeps_its_state_and_raises_the_errors_of_its_service() -> None:
    worker = Worker(Counter)
    assert await worker.call(Counter.add, 2) == 2
    with pytest.raises(SdyError, match="a mistake"):
        await worker.call(Counter.fail)
    assert await worker.call(Counter.add, number=3) == 5
    assert await worker.call(Counter.process) != os.getpid()
    worker.stop()


@pytest.mark.asyncio
async def test_a_worker_that_crashed_or_was_stopped_starts_anew() -> None:
    worker = Worker(Counter)
    with pytest.raises(WorkerError, match="ended"):
        await worker.call(Counter.crash)
    assert await worker.call(Counter.add, 2) == 2
    asyncio.get_running_loop().call_later(0.2, worker.stop)
    with pytest.raises(WorkerStoppedError):
        await worker.call(Counter.wait)
    assert await worker.call(Counter.add, 1) == 1
    worker.stop()
