"""Compare the time of partitioning with that of propagation, on the same text."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.timing.medians import measure, table

MOST = 2.0  # times the time of propagation


@pytest.mark.benchmark
def test_partitioning_takes_at_most_twice_as_long_as_propagation(llama: dict[int, Path]) -> None:
    rows: list[tuple[object, ...]] = []
    ratios: dict[int, float] = {}
    large = {layers: llama[layers] for layers in (32, 128)}
    for layers, (partition, propagate) in measure(large, "ours_partition", "ours_propagate").items():
        ratios[layers] = partition / propagate
        rows.append((layers, f"{partition:.2f} s", f"{propagate:.2f} s", f"{ratios[layers]:.2f}"))
    print(table("from shardings to the local program", ("layers", "partitioning", "propagation", "ratio"), rows))
    assert all(ratio <= MOST for ratio in ratios.values())
