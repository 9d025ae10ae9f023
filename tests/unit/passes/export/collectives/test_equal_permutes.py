"""Equal permutes are shared: what they compute stays the same, and the peak memory nearly does."""

from __future__ import annotations

import numpy as np
import pytest

from sdy.cost.memory import PeakFinder, bytes_of_tensor
from sdy.cost.statistics import statistics_of
from sdy.dialects.ir.symbols import main_function
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.stablehlo.collectives import CollectivePermuteOp
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.devices.grid import grid_of
from sdy.interpreter.devices.values import stacked
from sdy.interpreter.run import run_spmd
from sdy.passes.export.collectives.merge_permutes import MergePermutesPass
from sdy.passes.run import run_passes

DEVICES = 4


def permute(name: str, value: str, handle: int, size: int = 2, pairs: str = "[[0, 1], [1, 2], [2, 3]]") -> str:
    """Return the line of a permute of a tensor of `size` elements."""
    return (
        f'%{name} = "stablehlo.collective_permute"(%{value}) <{{source_target_pairs = dense<{pairs}> : '
        f"tensor<{pairs.count('[') - 1}x2xi64>, channel_handle = #stablehlo.channel_handle<handle = {handle}, "
        f"type = 1>}}> : (tensor<{size}xf32>) -> tensor<{size}xf32>"
    )


def halo(name: str, value: str, handle: int, size: int) -> str:
    """Return the lines that put the last two elements of the left neighbor before a value of `size` elements."""
    return f"""
%{name}s = stablehlo.slice %{value} [{size - 2}:{size}] : (tensor<{size}xf32>) -> tensor<2xf32>
{permute(f"{name}p", f"{name}s", handle)}
%{name} = stablehlo.concatenate %{name}p, %{value}, dim = 0
  : (tensor<2xf32>, tensor<{size}xf32>) -> tensor<{size + 2}xf32>"""


PROGRAMS = {
    "equal slices": (halo("b", "a", 1, 4) + halo("c", "a", 2, 4), "b, %c : tensor<6xf32>, tensor<6xf32>", 2, 1),
    "halos of halos": (
        halo("b", "a", 1, 4) + halo("c", "b", 2, 6) + halo("d", "a", 3, 4) + halo("e", "d", 4, 6),
        "c, %e : tensor<8xf32>, tensor<8xf32>",
        4,
        2,
    ),
    "other devices": (
        permute("b", "a", 1, 4) + "\n" + permute("c", "a", 2, 4, "[[0, 1], [1, 0], [2, 3]]"),
        "b, %c : tensor<4xf32>, tensor<4xf32>",
        2,
        2,
    ),
    "a third that is equal to the first": (
        "\n".join(permute(name, "a", handle, 4) for handle, name in enumerate("bcd", 1)),
        "b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>",
        3,
        1,
    ),
}


def program(body: str, results: str) -> str:
    types = results.partition(":")[2]
    return f"func.func @main(%a: tensor<4xf32>) -> ({types}) {{\n{body}\nreturn %{results}\n}}"


@pytest.mark.parametrize("case", PROGRAMS)
def test_shared_permutes_compute_the_same(case: str) -> None:
    body, results, before_count, count = PROGRAMS[case]
    before, after = (parse_module(program(body, results)) for _ in range(2))
    run_passes(make_context(), after, [MergePermutesPass()])
    verify_module(after)
    assert [len(ops_of(module, CollectivePermuteOp)) for module in (before, after)] == [before_count, count]
    assert statistics_of(after).bytes_sent <= statistics_of(before).bytes_sent * count / before_count
    grid = grid_of(partition_count=DEVICES)
    held = stacked(np.arange(1, 1 + DEVICES * 4, dtype=np.float32).reshape(DEVICES, 4), grid)
    for expected, found in zip(*(run_spmd(module, [held], grid) for module in (before, after)), strict=True):
        for device in range(DEVICES):
            np.testing.assert_array_equal(found.device_view(device), expected.device_view(device))


@pytest.mark.parametrize(("between", "count"), [(10, 2), (1, 1), (1000, 1)])
def test_a_value_is_kept_while_memory_is_at_its_peak_only_if_it_is_small(between: int, count: int) -> None:
    middle = f"tensor<{between}x4xf32>"
    module = parse_module(f"""
func.func @main(%a: tensor<4xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  {permute("b", "a", 1, 4)}
  %0 = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.custom_call @large(%a) : (tensor<4xf32>) -> {middle}
  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0, 1]
    : ({middle}, tensor<f32>) -> tensor<f32>
  {permute("c", "a", 2, 4)}
  %3 = stablehlo.concatenate %c, %a, %a, dim = 0 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  %5 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<12xf32>, tensor<f32>) -> tensor<f32>
  return %0, %2, %5 : tensor<f32>, tensor<f32>, tensor<f32>
}}""")
    peak = PeakFinder(module, bytes_of_tensor).of_function(main_function(module))
    run_passes(make_context(), module, [MergePermutesPass()])
    assert len(ops_of(module, CollectivePermuteOp)) == count
    assert PeakFinder(module, bytes_of_tensor).of_function(main_function(module)) <= peak * 1.05
