"""Fuse a permute and an all-to-all: the same values on every device and bytes, without more memory."""

from __future__ import annotations

import numpy as np
import pytest

from sdy.cost.memory import peak_bytes
from sdy.cost.statistics import statistics_of
from sdy.dialects.ir.walk import ops_of
from sdy.dialects.module_text import make_context, parse_module
from sdy.dialects.stablehlo.collectives import AllToAllOp, CollectivePermuteOp
from sdy.dialects.verification.verify_module import verify_module
from sdy.interpreter.devices.grid import grid_of
from sdy.interpreter.devices.values import stacked
from sdy.interpreter.run import run_spmd
from sdy.passes.export.collectives.fuse_permutes import FusePermutesPass
from sdy.passes.run import run_passes

SWAPPED = "dense<[[0, 0], [1, 4], [2, 2], [3, 6], [4, 1], [5, 5], [6, 3], [7, 7]]> : tensor<8x2xi64>"
GROUPS = "dense<[[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<4x2xi64>"


def permute(result: str, operand: str, shape: str) -> str:
    return f"""
  {result} = "stablehlo.collective_permute"({operand}) <{{source_target_pairs = {SWAPPED},
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}}> : (tensor<{shape}>) -> tensor<{shape}>"""


def all_to_all(result: str, operand: str) -> str:
    return f"""
  {result} = "stablehlo.all_to_all"({operand}) <{{split_dimension = 1 : i64, concat_dimension = 0 : i64,
    split_count = 2 : i64, replica_groups = {GROUPS},
    channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}}>
    : (tensor<2x6xi32>) -> tensor<4x3xi32>"""


ORDERS = {
    "permute first": permute("%1", "%0", "2x6xi32") + all_to_all("%2", "%1"),
    "all-to-all first": all_to_all("%1", "%0") + permute("%2", "%1", "4x3xi32"),
    "permutes around it": permute("%1", "%0", "2x6xi32") + all_to_all("%3", "%1") + permute("%2", "%3", "4x3xi32"),
}


@pytest.mark.parametrize("order", ORDERS)
def test_fused_collective_computes_the_same(order: str) -> None:
    text = f"""
func.func @main(%a: tensor<2x6xi32>) -> tensor<4x3xi32> {{
  %large = stablehlo.constant dense<0.0> : tensor<512xf32>
  %0 = stablehlo.negate %a : tensor<2x6xi32>
  {ORDERS[order]}
  return %2 : tensor<4x3xi32>
}}"""
    before, after = parse_module(text), parse_module(text)
    run_passes(make_context(), after, [FusePermutesPass()])
    verify_module(after)
    assert len(ops_of(after, AllToAllOp)) == 1
    assert len(ops_of(after, CollectivePermuteOp)) == len(ops_of(before, CollectivePermuteOp)) - 1
    assert statistics_of(after).bytes_sent == statistics_of(before).bytes_sent
    assert peak_bytes(after) == peak_bytes(before)
    grid = grid_of(partition_count=8)
    held = stacked(np.arange(8 * 2 * 6, dtype=np.int32).reshape(8, 2, 6), grid)
    (expected,), (found,) = (run_spmd(module, [held], grid) for module in (before, after))
    for device in range(8):
        np.testing.assert_array_equal(found.device_view(device), expected.device_view(device))
