"""Tests of garbage collection around pauses: objects allocated in a pause end in the oldest generation."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from sdy.dialects.ir import gc_pause
from sdy.dialects.ir.gc_pause import CollectionSchedule, garbage_collection_paused


class Tracked:
    """An object tracked by the garbage collector."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    gc.collect(1)
    yield
    gc.unfreeze()
    gc.enable()


def is_young(tracked: Tracked) -> bool:
    return any(each is tracked for generation in (0, 1) for each in gc.get_objects(generation))


def is_scanned(tracked: Tracked) -> bool:
    """Return whether a collection scans an object: those that are frozen are in no generation."""
    return any(each is tracked for each in gc.get_objects())


def test_objects_are_old_after_a_pause() -> None:
    with garbage_collection_paused():
        assert not gc.isenabled()
        tracked = Tracked()
        assert is_young(tracked)
    assert gc.isenabled()
    assert not is_young(tracked)
    assert any(each is tracked for each in gc.get_objects(2))  # not frozen, so full collections scan it


def test_frozen_objects_stay_frozen() -> None:
    tracked = Tracked()
    assert is_scanned(tracked)
    gc.freeze()
    with garbage_collection_paused():
        assert not is_scanned(tracked)
    assert not is_scanned(tracked)


def test_a_disabled_collector_stays_disabled() -> None:
    gc.disable()
    with garbage_collection_paused():
        tracked = Tracked()
    assert not gc.isenabled()
    assert is_young(tracked)


def test_garbage_is_collected_after_many_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc_pause, "schedule", CollectionSchedule())
    monkeypatch.setattr(gc_pause, "MAX_UNCOLLECTED", 50_000)
    alive: list[bool] = []
    first: weakref.ref[Tracked] | None = None
    for _ in range(8):
        with garbage_collection_paused():
            garbage = [Tracked() for _ in range(10_000)]
            first = first or weakref.ref(garbage[0])
            del garbage
        alive.append(first() is not None)
    assert alive[0]
    assert not alive[-1]
