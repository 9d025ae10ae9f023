"""While a module is read or changed the collector of circles rests, and what is left behind is old to it."""

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


def test_what_is_left_is_old() -> None:
    with garbage_collection_paused():
        assert not gc.isenabled()
        kept = Kept()
        assert is_young(kept)
    assert gc.isenabled()
    assert not is_young(kept)
    assert any(each is kept for each in gc.get_objects(2))  # and will be looked at with everything else


def test_what_was_put_aside_stays_so() -> None:
    gc.freeze()
    aside = gc.get_freeze_count()
    with garbage_collection_paused():
        pass
    assert gc.get_freeze_count() == aside > 0


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    with garbage_collection_paused():
        kept = Kept()
    assert not gc.isenabled()
    assert is_young(kept)


def test_garbage_does_not_pile_up() -> None:
    gone: list[weakref.ref[Kept]] = []
    for _ in range(4):
        with garbage_collection_paused():
            garbage = [Kept() for _ in range(MAX_UNCOLLECTED // 2)]
            gone.append(weakref.ref(garbage[0]))
            del garbage
    assert [each() is None for each in gone[:2]] == [True, True]
