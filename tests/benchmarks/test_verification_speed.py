"""Compare the time of verification after each pass of the propagation pipeline with that of the passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.timing.medians import measure, table

MOST = 0.8  # times the time of the passes
ALL_MOST = 0.25  # of the time of verifying the whole module after each pass


@pytest.mark.benchmark
def test_verification_of_changes_is_faster_than_that_of_the_module(llama: dict[int, Path]) -> None:
    rows: list[tuple[object, ...]] = []
    ratios: dict[int, tuple[float, float]] = {}
    large = {layers: llama[layers] for layers in (32, 128)}
    for layers, (passes, with_changes, with_all) in measure(
        large, "ours_passes", "ours_passes_verified", "ours_passes_verified_in_full"
    ).items():
        changes, whole = with_changes - passes, with_all - passes
        ratios[layers] = changes / passes, changes / whole
        times = (f"{seconds:.2f} s" for seconds in (passes, changes, whole))
        rows.append((layers, *times, *(f"{ratio:.2f}" for ratio in ratios[layers])))
    head = ("layers", "passes", "verifying changes", "verifying all", "changes / passes", "changes / all")
    print(table("verification after each pass", head, rows))
    assert all(to_passes <= MOST and to_all <= ALL_MOST for to_passes, to_all in ratios.values())
