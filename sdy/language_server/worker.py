"""A process that holds a service and answers calls of its methods, so that the process that asks never waits.

Python runs one thread of a process at a time, so work that takes long needs another process. In it, each lane is a
thread: calls of one lane wait for each other, and a short call of one lane is answered while another lane computes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from enum import Enum
from functools import partial
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Lock, Thread
from typing import Concatenate, Generic, ParamSpec, TypeVar, cast

from sdy.diagnostics.diagnostic import SdyError

ServiceT = TypeVar("ServiceT")
T = TypeVar("T")
P = ParamSpec("P")


class Lane(Enum):
    """A thread of a worker: for calls that take long, or for short ones that are answered meanwhile."""

    COMPUTE = "compute"
    QUERY = "query"


class WorkerError(Exception):
    """A call failed because of a bug; the text is the traceback."""


class WorkerStoppedError(WorkerError):
    """The process of a call ended before it was answered."""


Call = tuple[int, Lane, str, tuple[object, ...], dict[str, object]]
Answer = tuple[int, object, SdyError | str | None]  # the number of the call, its result, its error
Pending = dict[int, asyncio.Future[object]]


class Worker(Generic[ServiceT]):
    """A process with one service, which is created in it. The process starts with the first call."""

    def __init__(self, service: Callable[[], ServiceT]) -> None:
        self._service = service
        self._numbers = count()
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._pending: Pending = {}
        self._sender = ThreadPoolExecutor(max_workers=1)  # a process that starts does not read yet

    async def call(
        self, lane: Lane, method: Callable[Concatenate[ServiceT, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return what a method of the service returns.

        Raises: SdyError as the method; WorkerError if it raises another exception; WorkerStoppedError if the process
        ends before it answers.
        """
        if self._process is None or self._connection is None or not self._process.is_alive():
            self._process, self._connection = self._started()
        number = next(self._numbers)
        answer = self._pending[number] = asyncio.get_running_loop().create_future()
        self._sender.submit(self._connection.send, (number, lane, method.__name__, args, kwargs))
        return cast(T, await answer)

    def stop(self) -> None:
        """End the process, without waiting for it; the calls that it has not answered fail."""
        if self._process is not None:
            self._process.terminate()
            self._process = None

    def _started(self) -> tuple[BaseProcess, Connection]:
        context = get_context("spawn")  # a fork would copy locks of threads, and the connection to the editor
        own, other = context.Pipe()
        process = context.Process(target=_serve, args=(other, self._service), daemon=True)
        process.start()
        other.close()
        self._pending = {}
        Thread(target=_read, args=(own, asyncio.get_running_loop(), self._pending), daemon=True).start()
        return process, own


def _read(connection: Connection, loop: asyncio.AbstractEventLoop, pending: Pending) -> None:
    """Pass the answers of a process to the event loop, until the process or the loop ends."""
    with suppress(RuntimeError):  # the loop is closed
        try:
            while True:
                loop.call_soon_threadsafe(_settle, pending, cast(Answer, connection.recv()))
        except (EOFError, OSError):
            loop.call_soon_threadsafe(_fail, pending)


def _settle(pending: Pending, answer: Answer) -> None:
    number, result, error = answer
    future = pending.pop(number)
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error if isinstance(error, SdyError) else WorkerError(error))


def _fail(pending: Pending) -> None:
    for future in pending.values():
        if not future.done():
            future.set_exception(WorkerStoppedError("the process was stopped"))


def _serve(connection: Connection, service: Callable[[], object]) -> None:
    """Answer calls until the process that asks has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks ends this one
    os.dup2(2, 1)  # standard output is the connection to the editor
    served, sending = service(), Lock()
    threads = {lane: ThreadPoolExecutor(max_workers=1) for lane in Lane}
    try:
        while True:
            number, lane, name, args, kwargs = cast(Call, connection.recv())
            future = threads[lane].submit(getattr(served, name), *args, **kwargs)
            future.add_done_callback(partial(_answer, connection, sending, number))
    except (EOFError, OSError):
        os._exit(0)  # without waiting for calls, which nobody waits for any more


def _answer(connection: Connection, sending: Lock, number: int, future: Future[object]) -> None:
    error = future.exception()
    result = future.result() if error is None else None
    shown = error if error is None or isinstance(error, SdyError) else "".join(traceback.format_exception(error))
    with sending, suppress(OSError):  # the process that asks has ended
        connection.send((number, result, shown))
