"""Compare the time of parsing (with verification) and printing with MLIR, and measure the memory of modules."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.timing.medians import measure, table

PARSE_MOST, PRINT_MOST = 22, 12  # µs per op
PARSE_RATIO_MOST = {32: 5.0, 128: 4.0}  # times jaxlib, by the number of layers
MEMORY_MOST = 1.05 * 1024  # bytes per op


@pytest.mark.benchmark
def test_parsing_and_printing_stay_within_limits(llama: dict[int, Path]) -> None:
    rows: list[tuple[object, ...]] = []
    per_op: dict[tuple[int, str], float] = {}
    ratios: dict[tuple[int, str], float] = {}
    large = {layers: llama[layers] for layers in (32, 128)}
    fixed = measure(large, "op_count", "ours_memory", rounds=1)
    timings = {what: measure(large, f"ours_{what}", f"jaxlib_{what}") for what in ("parse", "print")}
    for layers, (ops, per_op[layers, "memory"]) in fixed.items():
        for what, timed in timings.items():
            ours, theirs = timed[layers]
            per_op[layers, what] = ours / ops * 1e6
            ratios[layers, what] = ours / theirs
            cells = (f"{per_op[layers, what]:.1f} µs", f"{theirs / ops * 1e6:.1f} µs", f"{ours / theirs:.1f}")
            rows.append((what, layers, int(ops), *cells))
        rows.append(("memory", layers, int(ops), f"{per_op[layers, 'memory']:.0f} bytes", "", ""))
    print(table("text", ("", "layers", "ops", "ours per op", "jaxlib per op", "ratio"), rows))
    for layers in large:
        assert per_op[layers, "parse"] <= PARSE_MOST
        assert ratios[layers, "parse"] <= PARSE_RATIO_MOST[layers]
        assert per_op[layers, "print"] <= PRINT_MOST
        assert per_op[layers, "memory"] <= MEMORY_MOST
    assert per_op[128, "parse"] <= per_op[32, "parse"] * 1.15
    assert per_op[128, "print"] <= per_op[32, "print"] * 1.15
