"""Compare the time of `sdy-propagation-pipeline` with that of Shardy, on the same text."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.timing.medians import measure, table

MOST = {32: 1.0, 128: 0.7}  # of jaxlib's time


@pytest.mark.benchmark
def test_propagation_is_as_fast_as_shardy(llama: dict[int, Path]) -> None:
    rows: list[tuple[object, ...]] = []
    ratios: dict[int, float] = {}
    per_op: dict[int, float] = {}
    counts = measure(llama, "op_count", rounds=1)
    for layers, (ours, theirs) in measure(llama, "ours_propagate", "jaxlib_propagate").items():
        (ops,) = counts[layers]
        ratios[layers], per_op[layers] = ours / theirs, ours / ops * 1e6
        cells = (f"{ours:.3f} s", f"{theirs:.3f} s", f"{ratios[layers]:.2f}", f"{per_op[layers]:.0f} µs")
        rows.append((layers, int(ops), *cells))
    print(table("sdy-propagation-pipeline", ("layers", "ops", "ours", "jaxlib", "ratio", "ours per op"), rows))
    assert per_op[128] <= per_op[32] * 1.1
    assert all(ratios[layers] <= most for layers, most in MOST.items())
