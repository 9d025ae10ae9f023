"""Exchange plans, compared with the positions of individual elements."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdy.upstream.halo.exchange import StridedPlacement, dim_exchange, is_communication_free

placements = st.builds(StridedPlacement, low=st.integers(-4, 9), step=st.integers(1, 3), size=st.integers(1, 30))


@given(st.integers(2, 5), st.integers(1, 20), placements)
def test_exchange_includes_every_required_element(count: int, elements: int, placement: StridedPlacement) -> None:
    exchange, is_needed = dim_exchange(0, (), count, elements, placement)
    for position in range(placement.size):
        element, rest = divmod(position - placement.low, placement.step)
        if rest == 0 and 0 <= element < elements:
            target, source = position // exchange.part, element // exchange.shard
            assert -exchange.left <= source - target <= exchange.right
            assert is_needed or source == target


@given(st.integers(2, 5), st.integers(1, 20), placements)
def test_start_is_the_first_position_of_the_shard(count: int, elements: int, placement: StridedPlacement) -> None:
    exchange, _ = dim_exchange(0, (), count, elements, placement)
    for index in range(count):
        start = exchange.slope * index + exchange.offset - exchange.margin  # in the concatenated shards
        first_shard = index - exchange.left
        expected = index * exchange.part - placement.low - first_shard * exchange.shard * placement.step
        assert start == expected


def test_exchange_with_all_shards_is_too_far_unless_they_are_neighbors() -> None:
    neighbors, _ = dim_exchange(0, (), 2, 8, StridedPlacement(3, 1, 11))
    all_shards, _ = dim_exchange(0, (), 4, 4, StridedPlacement(-3, 1, 8))
    assert neighbors.left == 1
    assert not neighbors.is_too_far
    assert all_shards.is_too_far


def test_communication_free_slices_and_pads() -> None:
    assert is_communication_free(2, 4, StridedPlacement(0, 1, 3), is_slice=True)
    assert not is_communication_free(2, 8, StridedPlacement(0, 1, 3), is_slice=True)
    assert is_communication_free(2, 8, StridedPlacement(4, 1, 16), is_slice=False)
    assert not is_communication_free(2, 8, StridedPlacement(1, 1, 8), is_slice=False)
