"""Edge colorings: as few colors as the largest number of edges at a node."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sdy.partitioner.on_shards.regrouping import Edge, edge_colors

places = st.integers(0, 6)


@given(st.lists(st.tuples(places, places), max_size=40))
def test_edges_at_one_node_have_distinct_colors_and_their_number_is_minimal(edges: list[Edge]) -> None:
    colors = edge_colors(edges)
    busiest = 0
    for side in (0, 1):
        at_place = Counter(edge[side] for edge in edges)
        busiest = max(busiest, *at_place.values()) if at_place else 0
        assert len({(edge[side], color) for edge, color in zip(edges, colors, strict=True)}) == len(edges)
    assert set(colors) == set(range(busiest))


def test_a_path_of_two_colors_is_swapped() -> None:
    # The third edge has only color 0 left at its sender and only color 1 at its receiver.
    assert edge_colors([(0, 0), (1, 1), (1, 0)]) == [0, 0, 1]
    assert sorted(edge_colors([(0, 0), (0, 1), (1, 0), (1, 1)])) == [0, 0, 1, 1]
