"""Plans for concatenation, slices and pads, simulated on lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdy.partitioner.on_shards.regrouping import Regrouping, moving, moving_parts, regrouping

FILLER = -7


def regrouped(plan: Regrouping, shards: list[list[int]]) -> list[list[int]]:
    """Return the final shard of each device, given the concatenated operand shards of each device."""
    available = [list(shard) for shard in shards]
    for permute in plan.permutes:
        received = [[0] * permute.length for _ in shards]
        assert len({sender for sender, _ in permute.pairs}) == len(permute.pairs)
        assert len({receiver for _, receiver in permute.pairs}) == len(permute.pairs)
        for sender, receiver in permute.pairs:
            start = permute.starts[sender]
            assert start + permute.length <= plan.held
            received[receiver] = shards[sender][start : start + permute.length]
        available = [before + more for before, more in zip(available, received, strict=True)]
    available = [each + [FILLER] * plan.filled for each in available]
    results = [[0] * plan.shard for _ in shards]
    for copy in plan.copies:
        for device, result in enumerate(results):
            start, target = copy.starts[device], copy.targets[device]
            result[target : target + copy.length] = available[device][start : start + copy.length]
    return [result[: plan.shard] for result in results]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any), st.integers(2, 6))
def test_plan_assembles_the_result(shard_sizes: list[int], count: int) -> None:
    sizes = tuple(size * count for size in shard_sizes)
    shards: list[list[int]] = [[] for _ in range(count)]
    first = 1
    for size, own in zip(sizes, shard_sizes, strict=True):
        for index, shard in enumerate(shards):
            shard.extend(range(first + index * own, first + (index + 1) * own))
        first += size
    plan = regrouping(sizes, count)
    everything = list(range(1, first))
    expected = [everything[index * plan.shard : (index + 1) * plan.shard] for index in range(count)]
    assert regrouped(plan, shards) == expected


@given(st.integers(-30, 30), st.integers(1, 6), st.integers(1, 6), st.integers(2, 6))
def test_plan_moves_the_elements(moved: int, shard: int, result_shard: int, count: int) -> None:
    size = shard * count
    plan = moving(moved, shard, result_shard, count)
    positions = range(result_shard * count)
    values = [position - moved if 0 <= position - moved < size else FILLER for position in positions]
    expected = [values[index * result_shard : (index + 1) * result_shard] for index in range(count)]
    assert regrouped(plan, [list(range(index * shard, (index + 1) * shard)) for index in range(count)]) == expected


@given(st.lists(st.integers(0, 4), min_size=2, max_size=5), st.integers(2, 6))
def test_parts_of_a_value_move_by_the_same_permutes(sizes: list[int], count: int) -> None:
    shard, starts = sum(sizes) + 1, [sum(sizes[:number]) * count for number in range(len(sizes))]
    parts = tuple((-start, size) for start, size in zip(starts, sizes, strict=True) if size)
    shards = [list(range(index * shard, (index + 1) * shard)) for index in range(count)]
    plans = moving_parts(parts, shard, count)
    assert len({plan.permutes for plan in plans}) == bool(parts)
    for plan, (moved, size) in zip(plans, parts, strict=True):
        expected = [list(range(size * index - moved, size * (index + 1) - moved)) for index in range(count)]
        assert regrouped(plan, shards) == expected


@pytest.mark.parametrize(
    ("moved", "shard", "result_shard", "count", "lengths"),
    [
        (0, 16, 8, 4, [8, 8]),  # the first half
        (-32, 16, 8, 4, [8, 8]),  # the second half
        (0, 8, 4, 8, [4, 4]),
        (-1, 16, 16, 4, [1]),  # a shift by one element
        (0, 16, 5, 4, [5, 5, 1]),
        (0, 16, 32, 4, [16, 16]),  # padded to twice the size
    ],
)
def test_lengths_of_permutes_that_move_elements(
    moved: int, shard: int, result_shard: int, count: int, lengths: list[int]
) -> None:
    assert [permute.length for permute in moving(moved, shard, result_shard, count).permutes] == lengths


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
def test_lengths_of_permutes(sizes: tuple[int, ...], count: int, lengths: list[int]) -> None:
    assert [permute.length for permute in regrouping(sizes, count).permutes] == lengths
