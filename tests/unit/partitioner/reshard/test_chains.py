"""Chains of digits that move to each other's slots."""

from __future__ import annotations

import random

from sdy.partitioner.reshard.chains import EMPTY, ChainKind, SlotProblem, canonical_problem, chains_of


def kinds_of(problem: SlotProblem) -> list[ChainKind]:
    return [chain.kind for chain in chains_of(problem)]


def test_a_chain_leads_from_a_slot_that_becomes_empty_to_an_empty_slot() -> None:
    (chain,) = chains_of(SlotProblem((1, 0, EMPTY), (EMPTY, 1, 0), (2, 2, 2), (2, 2)))
    assert chain.slots == (0, 1, 2)
    assert chain.digits == (1, 0)
    assert chain.kind == ChainKind(2, 3, starts_with_digit=False, ends_with_digit=False, is_ring=False)
    assert chain.kind.has_conflict


def test_a_digit_that_replaces_another_digit_forms_a_chain() -> None:
    (chain,) = chains_of(SlotProblem((0,), (1,), (3,), (3, 3)))
    assert chain.digits == (1, 0)
    assert chain.kind == ChainKind(3, 1, starts_with_digit=True, ends_with_digit=True, is_ring=False)
    assert chain.kind.has_conflict


def test_a_ring_has_no_ends() -> None:
    (chain,) = chains_of(SlotProblem((0, 1), (1, 0), (2, 2), (2, 2)))
    assert chain.kind.is_ring
    assert chain.kind.has_conflict


def test_digits_that_stay_are_in_no_chain() -> None:
    assert chains_of(SlotProblem((0, EMPTY), (0, EMPTY), (2, 2), (2,))) == []


def test_slices_gathers_and_single_moves_have_no_conflict() -> None:
    for filling, target in (((EMPTY,), (0,)), ((0,), (EMPTY,)), ((0, EMPTY), (EMPTY, 0))):
        (kind,) = kinds_of(SlotProblem(filling, target, (2,) * len(filling), (2,)))
        assert not kind.has_conflict


def test_kinds_of_chains_determine_the_problem() -> None:
    rng = random.Random(0)
    for _ in range(500):
        sizes = [rng.choice((2, 3)) for _ in range(5)]
        problem = SlotProblem(_filling(rng, sizes), _filling(rng, sizes), tuple(sizes), tuple(sizes))
        kinds = kinds_of(problem)
        assert kinds_of(canonical_problem(kinds)) == kinds
        replaced = [
            old != new and EMPTY not in (old, new) for old, new in zip(problem.filling, problem.target, strict=True)
        ]
        assert any(kind.has_conflict for kind in kinds) == any(replaced)


def _filling(rng: random.Random, sizes: list[int]) -> tuple[int, ...]:
    """Return a filling with some digits in slots of their sizes; digits and slots have the same sizes."""
    filling = [EMPTY] * len(sizes)
    for digit in rng.sample(range(len(sizes)), rng.randint(0, len(sizes))):
        fitting = [slot for slot, size in enumerate(sizes) if size == sizes[digit] and filling[slot] == EMPTY]
        if fitting:
            filling[rng.choice(fitting)] = digit
    return tuple(filling)
