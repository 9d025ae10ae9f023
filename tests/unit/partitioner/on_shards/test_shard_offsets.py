"""By how much shards move their elements when a tensor is sliced or padded."""

from __future__ import annotations

import pytest

from sdy.partitioner.on_shards.shard_offsets import pad_shifts, slice_shifts

COUNTS = (1, 2, 3)


def sources_of_slice(start: int, stride: int, size: int) -> list[int]:
    """Of which element each of the result is a copy."""
    return [start + place * stride for place in range(size)]


def places_of_pad(low: int, interior: int, size: int, result: int) -> dict[int, int]:
    """Where each element lands in the result, if it does."""
    places = {element: low + element * (interior + 1) for element in range(size)}
    return {element: place for element, place in places.items() if 0 <= place < result}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("start", [0, 1, 2, 5])
@pytest.mark.parametrize("result_shard", [1, 2, 3])
def test_slices_stay_exactly_where_all_sources_are_local(
    start: int, stride: int, result_shard: int, count: int
) -> None:
    shard = 6
    sources = sources_of_slice(start, stride, result_shard * count)
    is_local = all(source // shard == place // result_shard for place, source in enumerate(sources))
    shifts = slice_shifts(start, stride, shard, result_shard, count)
    assert (shifts is not None) == is_local
    if shifts is not None:
        assert shifts == tuple(sources[place * result_shard] - place * shard for place in range(count))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("interior", [0, 1, 2])
@pytest.mark.parametrize("low", range(-3, 6))
@pytest.mark.parametrize("result_shard", [2, 4, 6, 9])
def test_pads_stay_exactly_where_all_elements_are_local(low: int, interior: int, result_shard: int, count: int) -> None:
    shard = 3
    places = places_of_pad(low, interior, shard * count, result_shard * count)
    is_local = all(element // shard == place // result_shard for element, place in places.items())
    shifts = pad_shifts(low, interior, shard, result_shard, count)
    assert (shifts is not None) == is_local
    if shifts is not None:
        for element, place in places.items():
            own, within = divmod(element, shard)
            assert shifts[own] + within * (interior + 1) == place - own * result_shard
