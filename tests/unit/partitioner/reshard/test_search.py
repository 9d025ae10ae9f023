"""The cheapest moves, compared with an exhaustive search."""

from __future__ import annotations

import random

import pytest
from support.reshards.exhaustive_search import least_price, price_of
from support.reshards.random_reshards import full_axis_shardings

from sdy.model.mesh import Mesh, MeshAxis
from sdy.model.mesh_digits import digits_of
from sdy.partitioner.reshard.chains import (
    EMPTY,
    ChainKind,
    Filling,
    SlotProblem,
    canonical_problem,
    chains_of,
    common_slots,
)
from sdy.partitioner.reshard.search import cheapest_moves, relevant_kinds
from sdy.partitioner.reshard.slot_moves import MoveKind


def all_problems(sizes: tuple[int, ...], rank: int) -> set[tuple[ChainKind, ...]]:
    """Return the kinds of chains of each pair of shardings of a tensor on a mesh."""
    mesh = Mesh(tuple(MeshAxis("abc"[index], size) for index, size in enumerate(sizes)))
    digits = digits_of((), mesh)
    assert digits is not None
    shardings = [[digits.inside(dim.axes) for dim in sharding.dims] for sharding in full_axis_shardings(mesh, rank)]
    problems: set[tuple[ChainKind, ...]] = set()
    for source in shardings:
        for target in shardings:
            slots = common_slots(source, target, digits.sizes)
            if slots is not None:
                problem = SlotProblem(slots.filled(source), slots.filled(target), slots.sizes, digits.sizes)
                problems.add(tuple(chain.kind for chain in chains_of(problem)))
    return problems


@pytest.mark.parametrize(
    ("sizes", "rank"),
    [((2, 2), 2), ((2, 2), 3), ((4, 2), 2), ((4, 2), 3), ((2, 2, 2), 2), ((2, 2, 2), 3), ((3, 2, 3), 2)],
)
def test_no_moves_cost_less(sizes: tuple[int, ...], rank: int) -> None:
    problems = all_problems(sizes, rank)
    assert len(problems) > 5
    for kinds in problems:
        kept = relevant_kinds(kinds)
        assert price_of(cheapest_moves(kept), canonical_problem(kept)) == least_price(canonical_problem(kinds)), kinds


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_no_moves_cost_less_with_four_digits(seed: int) -> None:
    rng = random.Random(seed)
    problem = SlotProblem(_random_filling(rng, 4, 4), _random_filling(rng, 4, 4), (2,) * 4, (2,) * 4)
    kinds = [chain.kind for chain in chains_of(problem)]
    kept = relevant_kinds(kinds)
    assert price_of(cheapest_moves(kept), canonical_problem(kept)) == least_price(canonical_problem(kinds))


def _random_filling(rng: random.Random, slots: int, digits: int) -> Filling:
    filling = [EMPTY] * slots
    for slot, digit in zip(rng.sample(range(slots), slots), rng.sample(range(digits), digits), strict=True):
        if rng.random() < 0.7:
            filling[slot] = digit
    return tuple(filling)


@pytest.mark.parametrize("seed", range(10))
def test_problems_with_many_digits_have_a_solution(seed: int) -> None:
    rng = random.Random(seed)
    problem = SlotProblem(_random_filling(rng, 16, 12 + 4), _random_filling(rng, 16, 12 + 4), (2,) * 16, (2,) * 16)
    chains = chains_of(problem)
    kinds = relevant_kinds([chain.kind for chain in chains])
    paid, _ = price_of(cheapest_moves(kinds), canonical_problem(kinds))
    after = 2 ** -sum(digit != EMPTY for digit in canonical_problem(kinds).target)
    assert paid < 2 * after


def test_an_idle_digit_makes_the_shards_of_a_permute_smaller() -> None:
    chain = ChainKind(5, 3, starts_with_digit=False, ends_with_digit=False, is_ring=False)
    idle = ChainKind(5, 0, starts_with_digit=True, ends_with_digit=True, is_ring=False)
    alone, helped = (price_of(cheapest_moves(kinds), canonical_problem(kinds)) for kinds in ((chain,), (idle, chain)))
    assert alone[0] * 25 == pytest.approx(1.6)
    assert helped[0] * 25 == 1
    kinds = [move.kind for move in cheapest_moves((idle, chain))]
    assert kinds == [MoveKind.SLICE, MoveKind.PERMUTE, MoveKind.GATHER]


def test_useless_idle_digits_are_not_relevant_kinds() -> None:
    moved = ChainKind(2, 2, starts_with_digit=False, ends_with_digit=False, is_ring=False)
    idle = ChainKind(2, 0, starts_with_digit=True, ends_with_digit=True, is_ring=False)
    assert relevant_kinds([idle, idle, moved]) == (moved,)
    longer = moved._replace(slot_count=3)
    assert relevant_kinds([idle, idle, longer]) == (idle, longer)
