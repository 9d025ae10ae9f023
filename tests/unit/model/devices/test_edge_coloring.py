"""Transfers in rounds: as few as the busiest place has transfers, and none has two in a round."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sdy.model.devices.edge_coloring import Edge, edge_colors

places = st.integers(0, 6)


@given(st.lists(st.tuples(places, places), max_size=40))
def test_nobody_is_in_a_round_twice_and_the_busiest_in_all(edges: list[Edge]) -> None:
    colors = edge_colors(edges)
    busiest = 0
    for side in (0, 1):
        at_place = Counter(edge[side] for edge in edges)
        busiest = max(busiest, *at_place.values()) if at_place else 0
        assert len({(edge[side], color) for edge, color in zip(edges, colors, strict=True)}) == len(edges)
    assert set(colors) == set(range(busiest))


def test_a_path_of_two_colors_is_swapped() -> None:
    # The third edge finds color 0 left at its sender and 1 at its receiver alone.
    assert edge_colors([(0, 0), (1, 1), (1, 0)]) == [0, 0, 1]
    assert sorted(edge_colors([(0, 0), (0, 1), (1, 0), (1, 1)])) == [0, 0, 1, 1]
