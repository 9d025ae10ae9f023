"""Shards of several tensors become shards of all of them: played through on lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdy.partitioner.on_shards.regrouping import Regrouping, regrouping


def regrouped(plan: Regrouping, shards: list[list[int]]) -> list[list[int]]:
    """What each device holds in the end; it holds a list of numbers first."""
    found = [list(shard) for shard in shards]
    for permute in plan.permutes:
        brought = [[0] * permute.length for _ in shards]
        assert len({sender for sender, _ in permute.pairs}) == len(permute.pairs)
        assert len({receiver for _, receiver in permute.pairs}) == len(permute.pairs)
        for sender, receiver in permute.pairs:
            start = permute.starts[sender]
            assert start + permute.length <= plan.shard
            brought[receiver] = shards[sender][start : start + permute.length]
        found = [before + more for before, more in zip(found, brought, strict=True)]
    results = [[0] * plan.shard for _ in shards]
    for placing in plan.placings:
        for device, result in enumerate(results):
            start, target = placing.starts[device], placing.targets[device]
            result[target : target + placing.length] = found[device][start : start + placing.length]
    return [result[: plan.shard] for result in results]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any), st.integers(2, 6))
def test_every_element_gets_to_its_place(shard_sizes: list[int], count: int) -> None:
    sizes = tuple(size * count for size in shard_sizes)
    shards: list[list[int]] = [[] for _ in range(count)]
    first = 1
    for size, own in zip(sizes, shard_sizes, strict=True):
        for place, shard in enumerate(shards):
            shard.extend(range(first + place * own, first + (place + 1) * own))
        first += size
    plan = regrouping(sizes, count)
    everything = list(range(1, first))
    expected = [everything[place * plan.shard : (place + 1) * plan.shard] for place in range(count)]
    assert regrouped(plan, shards) == expected


@pytest.mark.parametrize(
    ("sizes", "count", "lengths"),
    [
        ((64, 64), 4, [16, 16]),
        ((64, 64), 2, [32]),  # half of each operand stays
        ((63, 63, 63), 3, [21, 21]),
        ((64, 4), 4, [3, 1, 1]),
        ((64,), 4, []),
    ],
)
def test_how_much_is_sent(sizes: tuple[int, ...], count: int, lengths: list[int]) -> None:
    assert [permute.length for permute in regrouping(sizes, count).permutes] == lengths
