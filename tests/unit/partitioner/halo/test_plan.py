"""How far shards reach for what they need; checked against the elements themselves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdy.partitioner.halo.plan import Placement, dim_exchange, is_communication_free

placements = st.builds(Placement, low=st.integers(-4, 9), step=st.integers(1, 3), size=st.integers(1, 30))


@given(st.integers(2, 5), st.integers(1, 20), placements)
def test_every_element_of_a_part_is_within_reach(count: int, elements: int, placement: Placement) -> None:
    exchange, is_needed = dim_exchange(0, (), count, elements, placement)
    for position in range(placement.size):
        element, rest = divmod(position - placement.low, placement.step)
        if rest == 0 and 0 <= element < elements:
            target, source = position // exchange.part, element // exchange.shard
            assert -exchange.left <= source - target <= exchange.right
            assert is_needed or source == target


@given(st.integers(2, 5), st.integers(1, 20), placements)
def test_a_part_begins_where_its_first_position_lies(count: int, elements: int, placement: Placement) -> None:
    exchange, _ = dim_exchange(0, (), count, elements, placement)
    for index in range(count):
        start = exchange.slope * index + exchange.offset - exchange.margin  # in the shards that are joined
        first_shard = index - exchange.left
        expected = index * exchange.part - placement.low - first_shard * exchange.shard * placement.step
        assert start == expected


def test_exchange_with_all_shards_is_too_far_unless_they_are_neighbours() -> None:
    neighbours, _ = dim_exchange(0, (), 2, 8, Placement(3, 1, 11))
    everybody, _ = dim_exchange(0, (), 4, 4, Placement(-3, 1, 8))
    assert neighbours.left == 1
    assert not neighbours.is_too_far
    assert everybody.is_too_far


def test_a_slice_from_the_front_stays_in_shards_of_one_size() -> None:
    assert is_communication_free(2, 4, Placement(0, 1, 3), is_slice=True)
    assert not is_communication_free(2, 8, Placement(0, 1, 3), is_slice=True)
    assert is_communication_free(2, 8, Placement(4, 1, 16), is_slice=False)
    assert not is_communication_free(2, 8, Placement(1, 1, 8), is_slice=False)
