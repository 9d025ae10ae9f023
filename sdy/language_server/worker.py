"""A process that holds a service and answers calls of its methods, so that the process that asks never waits.

Python runs one thread of a process at a time, and its garbage collection stops all threads. So work that takes long
needs another process.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from multiprocessing import Pipe, get_all_start_methods, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Concatenate, Generic, ParamSpec, TypeVar, cast

from sdy.diagnostics.diagnostic import SdyError
from sdy.program.parallel.processes import answered

ServiceT = TypeVar("ServiceT")
T = TypeVar("T")
P = ParamSpec("P")

_PRELOADED = "sdy.language_server.services"  # imported once, where processes can be forked from a server


class WorkerError(Exception):
    """The process of a call ended because of a bug, whose traceback it wrote to standard error."""


class WorkerStoppedError(Exception):
    """The process of a call was stopped before the call was answered."""


Call = tuple[int, str, tuple[object, ...], dict[str, object]]
Answer = tuple[int, object, SdyError | None]  # the number of the call, its result, its error


@dataclass
class _Running:
    """A process, and the calls that it has not answered yet, by their numbers."""

    process: BaseProcess
    connection: Connection
    pending: dict[int, asyncio.Future[object]] = field(default_factory=dict[int, asyncio.Future[object]])
    is_stopped: bool = False  # by this process
    has_ended: bool = False


class Worker(Generic[ServiceT]):
    """A process with one service, which is created in it after `prepare`. The process starts with the first call.

    Calls are answered one after another.
    """

    def __init__(self, service: Callable[[], ServiceT], prepare: Callable[[], None] | None = None) -> None:
        self._service = service if prepare is None else partial(_prepared, prepare, service)
        self._numbers = count()
        self._running: _Running | None = None
        self._stops = 0
        self._starting = asyncio.Lock()
        self._sender = ThreadPoolExecutor(max_workers=1)  # a process that starts does not read yet

    async def call(self, method: Callable[Concatenate[ServiceT, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a method of the service returns.

        Raises: SdyError as the method; WorkerStoppedError if `stop` is called before the answer; WorkerError if the
        process ends for another reason, such as another exception.
        """
        stops = self._stops
        async with self._starting:
            if self._running is None or self._running.has_ended:
                self._running = await asyncio.to_thread(_started, self._service, asyncio.get_running_loop())
        if self._stops != stops:  # while the process started
            self._end()
            raise WorkerStoppedError
        number = next(self._numbers)
        answer = self._running.pending[number] = asyncio.get_running_loop().create_future()
        self._sender.submit(self._running.connection.send, (number, method.__name__, args, kwargs))
        return cast(T, await answer)

    def stop(self) -> None:
        """End the process, without waiting for it; the calls that it has not answered fail."""
        self._stops += 1
        self._end()

    def _end(self) -> None:
        if self._running is not None:
            self._running.is_stopped = True
            self._running.process.terminate()
            self._running = None


def _prepared(prepare: Callable[[], None], service: Callable[[], ServiceT]) -> ServiceT:
    prepare()
    return service()


def _started(service: Callable[[], object], loop: asyncio.AbstractEventLoop) -> _Running:
    """Start a process, and a thread that passes its answers to the event loop."""
    own, other = Pipe()
    process = _process(other, service)
    process.start()
    other.close()
    running = _Running(process, own)
    Thread(target=_read, args=(running, loop), daemon=True).start()
    return running


def _process(connection: Connection, service: Callable[[], object]) -> BaseProcess:
    """Return a process that is not a fork of this one, which has threads and the connection to the editor."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn").Process(target=_serve, args=(connection, service), daemon=True)
    context = get_context("forkserver")
    context.set_forkserver_preload([_PRELOADED])
    return context.Process(target=_serve, args=(connection, service), daemon=True)


def _read(running: _Running, loop: asyncio.AbstractEventLoop) -> None:
    """Pass the answers of a process to the event loop, until the process or the loop ends."""
    with suppress(RuntimeError):  # the loop is closed
        try:
            while True:
                loop.call_soon_threadsafe(_settle, running, cast(Answer, running.connection.recv()))
        except (EOFError, OSError):
            loop.call_soon_threadsafe(_fail, running)


def _settle(running: _Running, answer: Answer) -> None:
    number, result, error = answer
    future = running.pending.pop(number)
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _fail(running: _Running) -> None:
    running.has_ended = True
    for future in running.pending.values():
        if not future.done():
            message = "a worker process ended; see its standard error"
            future.set_exception(WorkerStoppedError() if running.is_stopped else WorkerError(message))


def _serve(connection: Connection, service: Callable[[], object]) -> None:
    """Answer calls until the process that asks has ended. Other exceptions than SdyError end this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks ends this one
    os.dup2(2, 1)  # standard output is the connection to the editor
    served = service()
    with suppress(EOFError, OSError):  # the process that asks has ended
        while True:
            number, name, args, kwargs = cast(Call, connection.recv())
            connection.send((number, *answered(partial(getattr(served, name), *args, **kwargs))))
