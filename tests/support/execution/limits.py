"""Limits of time and memory for a test in this process."""

from __future__ import annotations

import gc
import resource
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


class TimeLimitError(BaseException):
    """The limit of time was exceeded. No handler of errors in the library catches it."""


@contextmanager
def limited(cpu_seconds: float, more_bytes: int | None = None) -> Generator[None, None, None]:
    """Raise TimeLimitError after some seconds of CPU time, MemoryError beyond some more bytes of address space.

    Garbage is not collected meanwhile: that of earlier tests may take seconds.
    """

    def raise_timeout(*_: object) -> None:
        raise TimeLimitError(f"over {cpu_seconds} s")

    handler = signal.signal(signal.SIGPROF, raise_timeout)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    collects = gc.isenabled()
    gc.disable()
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    if more_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (_address_space() + more_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        if collects:
            gc.enable()


def _address_space() -> int:
    """Return the bytes of the address space of this process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
