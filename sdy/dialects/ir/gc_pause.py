"""Pausing of Python's cyclic garbage collector while a module is parsed or rewritten."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager

# New objects, of roughly 100 to 200 bytes each, after which garbage is collected; twice as many as are alive, if that
# is more. Partitioning 47,000 ops allocates 1.5 million.
MAX_UNCOLLECTED = 2_000_000
# Python 3.12 counts its own immortal objects, a few hundred, as frozen; a program that freezes its objects has more.
IMMORTAL = 1_000 if sys.version_info[:2] == (3, 12) else 0


class CollectionSchedule:
    """Counts the objects allocated in pauses, and collects garbage when there are too many."""

    def __init__(self) -> None:
        self._uncollected = 0
        self._alive = 0  # after the last collection

    def end_pause(self) -> None:
        """Move the new objects to the oldest generation, so that they are not scanned at once: modules live long.

        Python runs a full collection only when many objects became old through partial collections, which these did
        not. So this function runs it after `MAX_UNCOLLECTED` objects, or more if many are alive: a collection scans
        all of them.
        """
        if (
            gc.get_freeze_count() > IMMORTAL
        ):  # `unfreeze` would also release objects that the caller's program has frozen
            return
        thresholds = gc.get_threshold()
        young, middle, old = gc.get_count()  # objects, then numbers of collections of the previous generation
        self._uncollected += young + thresholds[0] * (middle + thresholds[1] * old)
        is_late = self._uncollected > max(MAX_UNCOLLECTED, 2 * self._alive)
        if is_late:
            gc.collect()
            self._uncollected = 0
        gc.freeze()
        if is_late:
            self._alive = gc.get_freeze_count()
        gc.unfreeze()


schedule = CollectionSchedule()


@contextmanager
def garbage_collection_paused() -> Generator[None, None, None]:
    """Disable the cyclic garbage collector, which would scan the module again and again without finding garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            schedule.end_pause()
            gc.enable()
