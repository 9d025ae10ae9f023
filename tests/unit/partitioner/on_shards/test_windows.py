"""Windows with other sizes: the same first results, and shards that compute them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sdy.partitioner.on_shards.windows import (
    Window,
    halo_of_kernel_shards,
    halo_of_shards,
    with_equal_kernel_shards,
    with_equal_shards,
    with_equal_tiles,
)

PADDING = -1  # in place of the number of an element


def elements_read(window: Window, kernel: int, result: int) -> list[int]:
    """Return the element of the input that each of the first `kernel` elements of the kernel meets in a window."""
    positions = [result * window.stride + index * window.step - window.low for index in range(kernel)]
    return [
        position // window.gap if position % window.gap == 0 and 0 <= position // window.gap < window.size else PADDING
        for position in positions
    ]


def result_count(window: Window) -> int:
    extent = window.low + (window.size - 1) * window.gap + 1 + window.high
    return (extent - (window.kernel - 1) * window.step - 1) // window.stride + 1


def random_windows(seed: int) -> Iterator[Window]:
    choose = random.Random(seed)
    while True:
        window = Window(
            size=choose.randint(8, 40),
            kernel=choose.randint(1, 4),
            results=0,
            stride=choose.randint(1, 3),
            gap=choose.choice((1, 1, 2)),
            step=choose.choice((1, 1, 2)),
            low=choose.randint(0, 3),
            high=choose.randint(-2, 3),
            is_reversed=False,
            result_dim=0,
        )
        results = result_count(window)
        if results > 0:
            yield replace(window, results=results)


@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_first_results_read_the_same_elements(count: int) -> None:
    changed = 0
    for _, window in zip(range(400), random_windows(count), strict=False):
        found = with_equal_shards(window, count)
        if found is None:
            continue
        changed += 1
        assert found.results == result_count(found) >= window.results
        assert found.size >= window.size
        assert halo_of_shards(found, count) is not None
        for result in range(window.results):
            read, now = (elements_read(each, window.kernel, result) for each in (window, found))
            # A new element is padding that the op had, or that the pad of the input adds.
            assert [each if each < window.size else PADDING for each in now] == read
    assert changed > 100


@pytest.mark.parametrize("count", [2, 4])
def test_a_longer_kernel_gives_the_same_results(count: int) -> None:
    changed = 0
    for size, difference, results, low in itertools.product(range(8, 40), range(-4, 5), range(1, 4), range(3)):
        kernel = size + difference
        window = Window(
            size, kernel, results, 1, 1, 1, low, results - 1 - low + difference, is_reversed=False, result_dim=0
        )
        found = with_equal_kernel_shards(window, count)
        if found is None:
            continue
        changed += 1
        assert (found.results, result_count(found)) == (results, result_count(window))
        assert found.kernel >= kernel
        assert halo_of_kernel_shards(found, count) is not None
        for result in range(results):
            read, now = (elements_read(each, kernel, result) for each in (window, found))
            assert [each if each < size else PADDING for each in now] == read
    assert changed > 500


@pytest.mark.parametrize("count", [2, 4])
def test_tiles_are_in_one_shard(count: int) -> None:
    changed = 0
    for window in itertools.islice(random_windows(count), 2000):
        scattered = replace(window, gap=1, step=1, high=0)
        if (results := result_count(scattered)) < 1:
            continue
        scattered = replace(scattered, results=results)
        found = with_equal_tiles(scattered, count)
        if found is None:
            continue
        changed += 1
        assert found.results * found.stride == found.size >= window.size
        assert found.size % (count * found.stride) == 0
        for result in range(results):
            read, now = (elements_read(each, window.kernel, result) for each in (scattered, found))
            assert PADDING not in read
            assert now == read
    assert changed > 100


def test_windows_that_shards_compute_stay() -> None:
    window = Window(
        size=16, kernel=3, results=16, stride=1, gap=1, step=1, low=1, high=1, is_reversed=False, result_dim=0
    )
    assert halo_of_shards(window, 4) is not None
    assert with_equal_shards(window, 4) is None


def test_windows_that_leave_elements_at_the_end_stay() -> None:
    window = Window(
        size=32, kernel=1, results=16, stride=2, gap=1, step=1, low=0, high=0, is_reversed=False, result_dim=0
    )
    assert halo_of_shards(window, 4) is not None
    assert with_equal_shards(window, 4) is None


def test_windows_over_several_shards_stay() -> None:
    window = Window(
        size=16, kernel=9, results=8, stride=1, gap=1, step=1, low=0, high=0, is_reversed=False, result_dim=0
    )
    assert with_equal_shards(window, 4) is None  # they would require two more shards
    assert with_equal_shards(window, 2) is not None
