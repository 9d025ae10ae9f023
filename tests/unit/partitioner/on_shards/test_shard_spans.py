"""What shards of a slice or pad send each other: played through on lists."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from sdy.partitioner.on_shards.shard_spans import Span, span


def placed(plan: Span, shards: list[list[int]]) -> list[list[int]]:
    """What each device holds in the end; 0 where nothing is."""
    results: list[list[int]] = []
    for device, start in enumerate(plan.starts):
        found: list[int] = []
        for piece in plan.pieces:
            sender = device if piece.distance == 0 else {to: by for by, to in piece.pairs}.get(device)
            own = [0] * len(shards[0]) if sender is None else shards[sender]
            found += own[piece.start : piece.start + piece.length]
        results.append(found[start : start + plan.length])
    return results


@given(st.integers(-20, 20), st.integers(1, 5), st.integers(1, 5), st.integers(2, 5))
def test_every_element_gets_to_its_place(moved: int, shard: int, result_shard: int, count: int) -> None:
    assume(-shard * count < moved < result_shard * count)
    plan = span(moved, shard, result_shard, count)
    whole = list(range(1, shard * count + 1))
    wanted = [0] * (result_shard * count)
    for place, element in enumerate(whole, start=moved):
        if 0 <= place < len(wanted):
            wanted[place] = element
    results = placed(plan, [whole[place * shard : (place + 1) * shard] for place in range(count)])
    assert [element for result in results for element in result] == wanted
    assert plan.is_full == (0 not in wanted)


@given(st.integers(-20, 20), st.integers(1, 5), st.integers(2, 5))
def test_shards_of_one_size_take_two_permutes(moved: int, shard: int, count: int) -> None:
    plan = span(moved, shard, shard, count)
    assert plan.permutes <= 2
    assert plan.received <= shard
    assert set(plan.starts) == {0}


def test_neighbours_send_their_edges() -> None:
    plan = span(1, shard=16, result_shard=16, count=4)
    assert [(piece.start, piece.length, piece.pairs) for piece in plan.pieces if piece.is_sent] == [
        (15, 1, ((0, 1), (1, 2), (2, 3)))
    ]


def test_what_nobody_needs_is_not_sent() -> None:
    plan = span(63, shard=16, result_shard=16, count=4)
    assert [(piece.distance, piece.length, piece.pairs) for piece in plan.pieces if piece.is_sent] == [
        (-3, 1, ((0, 3),))
    ]
