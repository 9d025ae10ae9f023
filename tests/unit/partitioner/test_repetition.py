"""What repeats in a sequence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdy.partitioner.repetition import LEAST_COUNT, WINDOW, Periodic, longest_periodic

LAYER = [*range(10, 30)]


def test_layers_between_other_entries() -> None:
    found = longest_periodic([1, 2, *LAYER * 4, 3], least_period=5)
    assert found == Periodic(2, 82, 20)
    assert found is not None
    assert found.saved == 60


def test_a_begun_layer_belongs_to_the_part() -> None:
    assert longest_periodic([*LAYER * 3, *LAYER[:7]], least_period=5) == Periodic(0, 67, 20)


def test_two_layers_are_too_few() -> None:
    assert longest_periodic(LAYER * 2, least_period=5) is None


def test_short_repetitions_do_not_count() -> None:
    assert longest_periodic([1, 2, 3] * 50, least_period=5) is None
    assert longest_periodic(list(range(100)), least_period=5) is None


@given(
    st.lists(st.integers(0, 3), max_size=30),
    st.lists(st.integers(0, 99), min_size=WINDOW, max_size=40, unique=True),
    st.integers(LEAST_COUNT, 6),
)
def test_what_is_found_repeats(before: list[int], layer: list[int], count: int) -> None:
    entries = [*before, *layer * count]
    found = longest_periodic(entries, least_period=2)
    assert found is not None
    assert found.end - found.start >= LEAST_COUNT * found.period
    assert all(
        entries[place] == entries[place + found.period] for place in range(found.start, found.end - found.period)
    )
