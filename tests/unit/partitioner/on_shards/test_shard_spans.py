"""Exchanges between the shards of slices and pads, simulated on lists."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from sdy.partitioner.on_shards.shard_spans import ExchangeSpan, span


def simulated(plan: ExchangeSpan, shards: list[list[int]]) -> list[list[int]]:
    """Return the final shard of each device, with 0 at positions without an element."""
    results: list[list[int]] = []
    for device, start in enumerate(plan.starts):
        available: list[int] = []
        for part in plan.slices:
            sender = device if part.distance == 0 else {to: by for by, to in part.pairs}.get(device)
            own = [0] * len(shards[0]) if sender is None else shards[sender]
            available += own[part.start : part.start + part.length]
        results.append(available[start : start + plan.length])
    return results


@given(st.integers(-20, 20), st.integers(1, 5), st.integers(1, 5), st.integers(2, 5))
def test_span_contains_every_required_element(moved: int, shard: int, result_shard: int, count: int) -> None:
    assume(-shard * count < moved < result_shard * count)
    plan = span(moved, shard, result_shard, count)
    elements = list(range(1, shard * count + 1))
    expected = [0] * (result_shard * count)
    for index, element in enumerate(elements, start=moved):
        if 0 <= index < len(expected):
            expected[index] = element
    results = simulated(plan, [elements[index * shard : (index + 1) * shard] for index in range(count)])
    assert [element for result in results for element in result] == expected
    assert plan.is_full == (0 not in expected)


@given(st.integers(-20, 20), st.integers(1, 5), st.integers(2, 5))
def test_shards_of_equal_size_need_two_permutes(moved: int, shard: int, count: int) -> None:
    plan = span(moved, shard, shard, count)
    assert plan.permute_count <= 2
    assert plan.received <= shard
    assert set(plan.starts) == {0}


def test_neighbors_send_their_edges() -> None:
    plan = span(1, shard=16, result_shard=16, count=4)
    assert [(part.start, part.length, part.pairs) for part in plan.slices if part.is_sent] == [
        (15, 1, ((0, 1), (1, 2), (2, 3)))
    ]


def test_slices_that_no_device_requires_are_not_sent() -> None:
    plan = span(63, shard=16, result_shard=16, count=4)
    assert [(part.distance, part.length, part.pairs) for part in plan.slices if part.is_sent] == [(-3, 1, ((0, 3),))]
