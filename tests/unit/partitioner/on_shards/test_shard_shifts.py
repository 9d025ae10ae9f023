"""Shifts of elements within the shards of slices and pads."""

from __future__ import annotations

import pytest

from sdy.partitioner.on_shards.shard_shifts import pad_shifts, slice_shifts

COUNTS = (1, 2, 3)


def sources_of_slice(start: int, stride: int, size: int) -> list[int]:
    """Return the operand index of each element of the result."""
    return [start + position * stride for position in range(size)]


def positions_of_pad(low: int, interior: int, size: int, result: int) -> dict[int, int]:
    """Return the result position of each operand element that is in the result."""
    positions = {element: low + element * (interior + 1) for element in range(size)}
    return {element: position for element, position in positions.items() if 0 <= position < result}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("start", [0, 1, 2, 5])
@pytest.mark.parametrize("result_shard", [1, 2, 3])
def test_slice_shifts_exist_if_all_sources_are_local(start: int, stride: int, result_shard: int, count: int) -> None:
    shard = 6
    sources = sources_of_slice(start, stride, result_shard * count)
    is_local = all(source // shard == position // result_shard for position, source in enumerate(sources))
    shifts = slice_shifts(start, stride, shard, result_shard, count)
    assert (shifts is not None) == is_local
    if shifts is not None:
        assert shifts == tuple(sources[position * result_shard] - position * shard for position in range(count))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("interior", [0, 1, 2])
@pytest.mark.parametrize("low", range(-3, 6))
@pytest.mark.parametrize("result_shard", [2, 4, 6, 9])
def test_pad_shifts_exist_if_all_elements_are_local(low: int, interior: int, result_shard: int, count: int) -> None:
    shard = 3
    positions = positions_of_pad(low, interior, shard * count, result_shard * count)
    is_local = all(element // shard == position // result_shard for element, position in positions.items())
    shifts = pad_shifts(low, interior, shard, result_shard, count)
    assert (shifts is not None) == is_local
    if shifts is not None:
        for element, position in positions.items():
            own, within = divmod(element, shard)
            assert shifts[own] + within * (interior + 1) == position - own * result_shard
