"""When Python's collector of circles runs: not while a module is read or changed, and behind that every so often."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

MAX_UNCOLLECTED = 1_000_000  # objects, of a hundred bytes or two each


class _Sweeps:
    """Puts sweeps off, and knows how much has piled up."""

    def __init__(self) -> None:
        self._unseen = 0

    def put_off(self) -> None:
        """Let what is there count as old, or it would be gone through right now: a module lives long.

        Python sweeps what is old when much has become old in its own way, which this is not: it is done here.
        """
        if gc.get_freeze_count():  # or what somebody else has put aside would be looked at again
            return
        every = gc.get_threshold()
        young, middle, old = gc.get_count()  # objects, then sweeps of the generation before
        self._unseen += young + every[0] * (middle + every[1] * old)
        if self._unseen > MAX_UNCOLLECTED:
            gc.collect()
            self._unseen = 0
        gc.freeze()
        gc.unfreeze()


_SWEEPS = _Sweeps()


@contextmanager
def garbage_collection_paused() -> Generator[None, None, None]:
    """Without the cyclic garbage collector: it would go through the whole module again and again, and find nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _SWEEPS.put_off()
            gc.enable()
