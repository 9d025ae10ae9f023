"""Orders of ops with groups among them; the last op is the end of the block."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdy.partitioner.combining.groups import Candidate, largest_groups
from sdy.partitioner.combining.order import DependenceLists, Group, Grouping, scheduled


def _order(dependences: DependenceLists, *groups: Group) -> list[Group]:
    return scheduled(Grouping(dependences, groups))


def test_without_groups_nothing_moves() -> None:
    assert _order([[], [0], []]) == [(0,), (1,), (2,)]


def test_users_wait_until_the_group_is_complete() -> None:
    # 0 -> 1 -> 2, 3 -> 4 -> 5, with 1 and 4 at once
    dependences = [[], [0], [1], [], [3], [4], [2, 5]]
    assert _order(dependences, (1, 4)) == [(0,), (3,), (1, 4), (2,), (5,), (6,)]


def test_a_group_runs_right_before_its_first_user() -> None:
    dependences: DependenceLists = [[], [], [], [], [0, 3], [1, 4]]
    assert _order(dependences, (0, 1)) == [(2,), (3,), (0, 1), (4,), (5,)]


def test_a_group_that_nobody_needs_runs_before_the_end() -> None:
    dependences: DependenceLists = [[], [], [], []]
    assert _order(dependences, (0, 1)) == [(2,), (0, 1), (3,)]


def test_a_group_brings_the_groups_that_it_needs() -> None:
    # 0 and 1 at once, then 2 and 3, each of which dependences one of them; 5 is their first user
    dependences: DependenceLists = [[], [], [0], [1], [], [3], [2, 5]]
    assert _order(dependences, (0, 1), (2, 3)) == [(4,), (0, 1), (2, 3), (5,), (6,)]


def test_those_that_wait_go_on_in_the_order_of_the_program() -> None:
    dependences: DependenceLists = [[], [0], [0], [1], [], [4, 2], [1, 5]]
    assert _order(dependences, (0, 4)) == [(0, 4), (1,), (2,), (3,), (5,), (6,)]


@st.composite
def blocks(draw: st.DrawFn) -> tuple[list[list[int]], list[Candidate]]:
    """Ops that need some of those before, up to half of them collectives of two kinds; and an end."""
    count = draw(st.integers(1, 24))
    dependences = [sorted(draw(st.sets(st.integers(0, op - 1), max_size=3))) if op else [] for op in range(count)]
    picked = draw(st.sets(st.integers(0, count - 1)))
    candidates = [Candidate(op, draw(st.booleans()), draw(st.integers(1, 4))) for op in sorted(picked)]
    return [*dependences, []], candidates


@given(blocks(), st.integers(1, 16))
def test_every_op_runs_once_after_all_that_it_needs(
    block: tuple[list[list[int]], list[Candidate]], most_bytes: int
) -> None:
    dependences, candidates = block
    groups = largest_groups(dependences, candidates, most_bytes)
    order = scheduled(Grouping(dependences, groups))
    assert sorted(op for group in order for op in group) == list(range(len(dependences)))
    place = {op: number for number, group in enumerate(order) for op in group}
    assert all(place[need] < place[op] for op, of_op in enumerate(dependences) for need in of_op)
    assert order[-1] == (len(dependences) - 1,)
    assert {group for group in order if len(group) > 1} == {*groups}
