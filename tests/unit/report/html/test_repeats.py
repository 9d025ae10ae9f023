"""Ranges of a sequence that repeat several times in a row."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sdy.report.html.page_rows import MIN_ROWS_SAVED, Repeat, repeats_in

LAYER = "abcdefghijklmnopqrstuvwxyz"


def test_layers_are_found_between_other_items() -> None:
    forward, backward = LAYER * 3, LAYER.upper() * 2
    assert repeats_in(f"<{forward}-{backward}>") == [Repeat(1, 26, 3), Repeat(80, 26, 2)]


def test_the_shortest_period_is_taken() -> None:
    assert repeats_in("abc" * 20) == [Repeat(0, 3, 20)]


def test_short_repeats_are_not_folded() -> None:
    assert repeats_in("ab" * 6 + LAYER) == []
    assert repeats_in([]) == []


@given(st.text("ab", max_size=12), st.text("abc", min_size=2, max_size=40), st.integers(2, 30))
def test_repeats_do_not_overlap(before: str, period: str, count: int) -> None:
    text = before + period * count
    found = repeats_in(text)
    for repeat in found:
        first = text[repeat.start : repeat.start + repeat.period]
        assert text[repeat.start : repeat.end] == first * repeat.count
        assert repeat.period * (repeat.count - 1) >= MIN_ROWS_SAVED
    assert all(one.end <= other.start for one, other in pairwise(found))
    if len(period) * (count - 1) >= MIN_ROWS_SAVED:
        assert found
