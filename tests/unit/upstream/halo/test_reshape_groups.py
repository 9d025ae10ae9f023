"""Groups of dims of a reshape."""

from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from sdy.upstream.halo.reshape import reshape_groups


def test_kinds_of_groups() -> None:
    through, split, combined = reshape_groups((5, 6, 2, 2), (5, 2, 3, 4))
    assert through.is_pass_through
    assert split.is_split
    assert not combined.is_split
    assert not combined.is_pass_through
    assert (combined.before, combined.after) == ((2, 3), (3,))


def test_trailing_dims_of_size_one_form_own_groups() -> None:
    assert [(group.before, group.after) for group in reshape_groups((3,), (3, 1, 1))] == [
        ((0,), (0,)),
        ((), (1,)),
        ((), (2,)),
    ]


def test_empty_dim_is_grouped_with_the_rest_of_its_side() -> None:
    first, second = reshape_groups((0, 3), (5, 0))
    assert (first.before, first.after) == ((0, 1), (0,))
    assert (second.before, second.after) == ((), (1,))


@given(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=4))
def test_groups_have_equal_numbers_of_elements(sizes: list[int]) -> None:
    after = tuple(reversed(sizes))
    groups = reshape_groups(tuple(sizes), after)
    assert all(prod(group.sizes_before) == prod(group.sizes_after) for group in groups)
    assert [dim for group in groups for dim in group.before] == list(range(len(sizes)))
    assert [dim for group in groups for dim in group.after] == list(range(len(after)))
