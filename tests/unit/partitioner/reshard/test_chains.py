"""Chains of digits, each of which wants the slot of the next."""

from __future__ import annotations

import random

from sdy.partitioner.reshard.chains import ChainKind, Ends, chains_of, renumbered
from sdy.partitioner.reshard.slots import EMPTY


def kinds_of(ends: Ends) -> list[ChainKind]:
    return [chain.kind for chain in chains_of(ends)]


def test_a_chain_goes_from_a_slot_nobody_wants_to_an_empty_one() -> None:
    (chain,) = chains_of(Ends((1, 0, EMPTY), (EMPTY, 1, 0), (2, 2, 2), (2, 2)))
    assert chain.slots == (0, 1, 2)
    assert chain.digits == (1, 0)
    assert chain.kind == ChainKind(2, 3, starts_with_digit=False, ends_with_digit=False, is_ring=False)
    assert chain.kind.has_conflict


def test_a_digit_that_replaces_another_one() -> None:
    (chain,) = chains_of(Ends((0,), (1,), (3,), (3, 3)))
    assert chain.digits == (1, 0)
    assert chain.kind == ChainKind(3, 1, starts_with_digit=True, ends_with_digit=True, is_ring=False)
    assert chain.kind.has_conflict


def test_a_ring_has_no_ends() -> None:
    (chain,) = chains_of(Ends((0, 1), (1, 0), (2, 2), (2, 2)))
    assert chain.kind.is_ring
    assert chain.kind.has_conflict


def test_what_stays_is_in_no_chain() -> None:
    assert chains_of(Ends((0, EMPTY), (0, EMPTY), (2, 2), (2,))) == []


def test_slices_gathers_and_single_moves_are_no_conflicts() -> None:
    for filling, wanted in (((EMPTY,), (0,)), ((0,), (EMPTY,)), ((0, EMPTY), (EMPTY, 0))):
        (kind,) = kinds_of(Ends(filling, wanted, (2,) * len(filling), (2,)))
        assert not kind.has_conflict


def test_the_kinds_of_chains_say_all() -> None:
    rng = random.Random(0)
    for _ in range(500):
        sizes = [rng.choice((2, 3)) for _ in range(5)]
        ends = Ends(_filling(rng, sizes), _filling(rng, sizes), tuple(sizes), tuple(sizes))
        kinds = kinds_of(ends)
        assert kinds_of(renumbered(kinds)) == kinds
        trades = [old != new and EMPTY not in (old, new) for old, new in zip(ends.filling, ends.wanted, strict=True)]
        assert any(kind.has_conflict for kind in kinds) == any(trades)


def _filling(rng: random.Random, sizes: list[int]) -> tuple[int, ...]:
    """Some digits in slots of their sizes; digits and slots have the same sizes."""
    filling = [EMPTY] * len(sizes)
    for digit in rng.sample(range(len(sizes)), rng.randint(0, len(sizes))):
        fitting = [slot for slot, size in enumerate(sizes) if size == sizes[digit] and filling[slot] == EMPTY]
        if fitting:
            filling[rng.choice(fitting)] = digit
    return tuple(filling)
