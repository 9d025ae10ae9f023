"""Tests of garbage collection around pauses: objects allocated in a pause end in the oldest generation."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from sdy.dialects.ir.gc_pause import MAX_UNCOLLECTED, garbage_collection_paused


class Kept:
    """An object that the collector knows."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    gc.collect()
    yield
    gc.unfreeze()
    gc.enable()


def is_young(kept: Kept) -> bool:
    return any(each is kept for generation in (0, 1) for each in gc.get_objects(generation))


def test_objects_are_old_after_a_pause() -> None:
    with garbage_collection_paused():
        assert not gc.isenabled()
        kept = Kept()
        assert is_young(kept)
    assert gc.isenabled()
    assert not is_young(kept)
    assert any(each is kept for each in gc.get_objects(2))  # and will be looked at with everything else


def test_frozen_objects_stay_frozen() -> None:
    gc.freeze()
    aside = gc.get_freeze_count()
    with garbage_collection_paused():
        pass
    assert gc.get_freeze_count() == aside > 0


def test_a_disabled_collector_stays_disabled() -> None:
    gc.disable()
    with garbage_collection_paused():
        kept = Kept()
    assert not gc.isenabled()
    assert is_young(kept)


def test_garbage_is_collected_after_many_pauses() -> None:
    gone: list[weakref.ref[Kept]] = []
    for _ in range(4):
        with garbage_collection_paused():
            garbage = [Kept() for _ in range(MAX_UNCOLLECTED // 2)]
            gone.append(weakref.ref(garbage[0]))
            del garbage
    assert [each() is None for each in gone[:2]] == [True, True]
