"""Permutes of one value between different devices become one permute that computes the same."""

from __future__ import annotations

import numpy as np
import pytest

from sdy.cost.statistics import statistics_of
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.devices.grid import grid_of
from sdy.interpreter.devices.values import stacked
from sdy.interpreter.run import run_spmd
from sdy.passes.export.collectives.merge_permutes import MergePermutesPass
from sdy.passes.run import run_passes

DEVICES = 6


def program(*permutes: str, sliced: bool) -> str:
    """Return a program whose results are permutes, written as lists of pairs, of one value or of equal slices."""
    lines: list[str] = []
    for index, pairs in enumerate(permutes):
        value = "%a"
        if sliced:
            value = f"%s{index}"
            lines.append(f"  {value} = stablehlo.slice %a [0:2] : (tensor<3xf32>) -> tensor<2xf32>")
        size = 2 if sliced else 3
        lines.append(
            f'  %{index} = "stablehlo.collective_permute"({value}) <{{source_target_pairs = dense<{pairs}>'
            f" : tensor<{pairs.count('[') - 1}x2xi64>, channel_handle = #stablehlo.channel_handle<handle = {index + 1},"
            f" type = 1>}}> : (tensor<{size}xf32>) -> tensor<{size}xf32>"
        )
    types = ", ".join(f"tensor<{2 if sliced else 3}xf32>" for _ in permutes)
    results = ", ".join(f"%{index}" for index in range(len(permutes)))
    body = "\n".join(lines)
    return f"func.func @main(%a: tensor<3xf32>) -> ({types}) {{\n{body}\n  return {results} : {types}\n}}"


CASES = {
    "a rotation in two parts": (("[[3, 0]]", "[[0, 1], [1, 2], [2, 3]]"), 1),
    "three parts": (("[[0, 1]]", "[[1, 2]]", "[[2, 0]]"), 1),
    "one device sends in both": (("[[0, 1]]", "[[0, 2]]"), 2),
    "one device receives in both": (("[[0, 2]]", "[[1, 2]]"), 2),
    "only the first two": (("[[0, 1]]", "[[1, 0]]", "[[0, 5]]"), 2),
}


@pytest.mark.parametrize("sliced", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_merged_permutes_compute_the_same(case: str, sliced: bool) -> None:
    permutes, count = CASES[case]
    before, after = (parse_module(program(*permutes, sliced=sliced)) for _ in range(2))
    run_passes(make_context(), after, [MergePermutesPass()])
    verify_module(after)
    assert len(ops_of(after, CollectivePermuteOp)) == count
    assert statistics_of(after).bytes_sent == statistics_of(before).bytes_sent * count / len(permutes)
    grid = grid_of(partition_count=DEVICES)
    held = stacked(np.arange(1, 1 + DEVICES * 3, dtype=np.float32).reshape(DEVICES, 3), grid)
    pairs = zip(*(run_spmd(module, [held], grid) for module in (before, after)), strict=True)
    for expected, found in pairs:
        for device in range(DEVICES):
            np.testing.assert_array_equal(found.device_view(device), expected.device_view(device))
