"""Which collectives meet, on small graphs. An op is its place, and dependences what it lists."""

from __future__ import annotations

import pytest

from sdy.partitioner.combining.groups import Candidate, halves, largest_groups
from sdy.partitioner.combining.order import Group

FREE: list[list[int]] = [[], [], [], [], []]


def _alike(*ops: int, kind: str = "sum", size: int = 1) -> list[Candidate]:
    return [Candidate(op, kind, size) for op in ops]


def test_independent_ones_meet() -> None:
    assert largest_groups(FREE, _alike(0, 1, 3), 100) == [(0, 1, 3)]


def test_those_that_are_not_alike_do_not() -> None:
    assert largest_groups(FREE, [*_alike(0, 1), *_alike(2, 3, kind="max")], 100) == [(0, 1), (2, 3)]


def test_one_that_needs_another_one_through_other_ops_does_not_meet_it() -> None:
    dependences = [[], [0], [1], [], [2, 3]]
    assert largest_groups(dependences, _alike(0, 2), 100) == []
    assert largest_groups(dependences, _alike(0, 2, 3), 100) == [(0, 3)]


def test_chains_meet_link_by_link() -> None:
    # 0 -> 1 -> 2 and 3 -> 4 -> 5
    dependences = [[], [0], [1], [], [3], [4], []]
    assert largest_groups(dependences, _alike(0, 1, 2, 3, 4, 5), 100) == [(0, 3), (1, 4), (2, 5)]


def test_groups_never_need_each_other_in_a_circle() -> None:
    # 0 (sum) -> 1 (max), 2 (max) -> 3 (sum): once the sums meet, the first max comes behind them, the second before
    dependences = [[], [0], [], [2], []]
    candidates = [*_alike(0, 3), *_alike(1, 2, kind="max")]
    assert largest_groups(dependences, candidates, 100) == [(0, 3)]


@pytest.mark.parametrize(("most_bytes", "groups"), [(8, [(0, 1, 2, 3)]), (4, [(0, 1), (2, 3)]), (3, []), (1, [])])
def test_the_results_of_a_group_have_no_more_bytes_than_allowed(most_bytes: int, groups: list[Group]) -> None:
    assert largest_groups(FREE, _alike(0, 1, 2, 3, size=2), most_bytes) == groups


def test_a_large_one_is_left_out_and_parts_no_others() -> None:
    candidates = [*_alike(0), *_alike(1, size=50), *_alike(2)]
    assert largest_groups(FREE, candidates, 10) == [(0, 2)]


def test_halves_keep_the_order_and_drop_lone_ops() -> None:
    assert halves((1, 2, 3, 4)) == [(1, 2), (3, 4)]
    assert halves((1, 2, 3)) == [(1, 2)]
    assert halves((1, 2)) == []
