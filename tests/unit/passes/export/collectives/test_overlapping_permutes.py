"""Elements that several permutes send to the same devices are sent once; what they compute stays the same."""

from __future__ import annotations

import numpy as np
import pytest

from sdy.cost.memory import PeakFinder, bytes_of_tensor
from sdy.cost.statistics import statistics_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.stablehlo.attributes.types import shape_of
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.devices.grid import grid_of
from sdy.interpreter.devices.values import stacked
from sdy.interpreter.run import run_spmd
from sdy.passes.export.collectives.merge_permutes import MergePermutesPass
from sdy.passes.run import run_passes

DEVICES = 4
LINE = "[[0, 1], [1, 2], [2, 3]]"


def permuted(*slices: tuple[int, int, str]) -> str:
    """Return a program whose results are permutes of rows of one value, each with its rows and devices.

    It begins with a large value, so that there is memory afterwards.
    """
    lines = ["  %large = stablehlo.iota dim = 0 : tensor<1000xf32>"]
    for number, (start, limit, pairs) in enumerate(slices):
        kind = f"tensor<{limit - start}x2xf32>"
        lines.append(f"  %s{number} = stablehlo.slice %a [{start}:{limit}, 0:2] : (tensor<8x2xf32>) -> {kind}")
        channel = f"#stablehlo.channel_handle<handle = {number + 1}, type = 1>"
        lines.append(
            f'  %{number} = "stablehlo.collective_permute"(%s{number}) <{{source_target_pairs = dense<{pairs}>'
            f" : tensor<{pairs.count('[') - 1}x2xi64>, channel_handle = {channel}}}>"
            f" : ({kind}) -> {kind}"
        )
    types = ", ".join(f"tensor<{limit - start}x2xf32>" for start, limit, _ in slices)
    body, results = "\n".join(lines), ", ".join(f"%{number}" for number in range(len(slices)))
    return f"func.func @main(%a: tensor<8x2xf32>) -> ({types}) {{\n{body}\n  return {results} : {types}\n}}"


# The slices that are sent, and the numbers of rows that are sent afterwards.
CASES: dict[str, tuple[list[tuple[int, int, str]], list[int]]] = {
    "a causal convolution": ([(5, 8, LINE), (6, 8, LINE), (7, 8, LINE)], [3]),
    "the shortest first": ([(7, 8, LINE), (6, 8, LINE), (5, 8, LINE)], [3]),
    "parts that overlap in a row": ([(4, 7, LINE), (0, 3, LINE), (2, 5, LINE)], [7]),
    "parts that only touch": ([(0, 3, LINE), (3, 6, LINE)], [3, 3]),
    "two runs": ([(0, 2, LINE), (6, 8, LINE), (1, 3, LINE), (5, 7, LINE)], [3, 3]),
    "other devices": ([(5, 8, LINE), (6, 8, "[[0, 2], [1, 3]]")], [3, 2]),
    "both directions": (
        [(7, 8, LINE), (0, 1, "[[1, 0], [2, 1]]"), (6, 8, LINE), (0, 2, "[[1, 0], [2, 1]]")],
        [2, 2],
    ),
    "parts of what was received": ([(4, 8, LINE), (5, 7, LINE), (5, 8, LINE)], [4]),
}


@pytest.mark.parametrize("case", CASES)
def test_permutes_of_overlapping_slices_compute_the_same(case: str) -> None:
    slices, rows = CASES[case]
    before, after = (parse_module(permuted(*slices)) for _ in range(2))
    run_passes(make_context(), after, [MergePermutesPass()])
    verify_module(after)
    assert sorted(shape_of(op.result)[0] for op in ops_of(after, CollectivePermuteOp)) == sorted(rows)
    sent, sent_before = statistics_of(after).bytes_sent, statistics_of(before).bytes_sent
    assert (sent == sent_before) == (len(rows) == len(slices))
    assert sent <= sent_before
    grid = grid_of(partition_count=DEVICES)
    held = stacked(np.arange(1, 1 + DEVICES * 16, dtype=np.float32).reshape(DEVICES, 8, 2), grid)
    for expected, found in zip(*(run_spmd(module, [held], grid) for module in (before, after)), strict=True):
        for device in range(DEVICES):
            np.testing.assert_array_equal(found.device_view(device), expected.device_view(device))


@pytest.mark.parametrize(("between", "count"), [(20, 2), (2000, 1)])
def test_what_is_received_is_kept_only_if_it_is_small(between: int, count: int) -> None:
    """Between two permutes of 4 and 3 rows, a large value is alone in memory."""
    module = parse_module(f"""
func.func @main(%a: tensor<8xf32>) -> (tensor<f32>, tensor<f32>, tensor<3xf32>) {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %a [4:8] : (tensor<8xf32>) -> tensor<4xf32>
  %1 = "stablehlo.collective_permute"(%0) <{{source_target_pairs = dense<{LINE}> : tensor<3x2xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.custom_call @large() : () -> tensor<{between}xf32>
  %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<{between}xf32>, tensor<f32>) -> tensor<f32>
  %5 = stablehlo.slice %a [5:8] : (tensor<8xf32>) -> tensor<3xf32>
  %6 = "stablehlo.collective_permute"(%5) <{{source_target_pairs = dense<{LINE}> : tensor<3x2xi64>,
    channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}}> : (tensor<3xf32>) -> tensor<3xf32>
  return %2, %4, %6 : tensor<f32>, tensor<f32>, tensor<3xf32>
}}""")
    peak = PeakFinder(module, bytes_of_tensor).of_function(main_function(module))
    run_passes(make_context(), module, [MergePermutesPass()])
    assert len(ops_of(module, CollectivePermuteOp)) == count
    assert PeakFinder(module, bytes_of_tensor).of_function(main_function(module)) <= peak * 1.05
