"""Scanned rows that are sharded are gathered once, not once for each row."""

from __future__ import annotations

import numpy as np
import pytest
from support.execution.on_shards import assert_same_on_shards

from sdy.cost.statistics import statistics_of
from sdy.program.program import Program

SCAN = """
sdy.mesh @mesh = <["x"=4]>
func.func public @main(%x: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<3xf32> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.constant dense<0.0> : tensor<3xf32>
  %0:3 = stablehlo.while(%rows = %x, %index = %i, %sum = %s) : tensor<16x3xf32>, tensor<i32>, tensor<3xf32>
  cond {
    %n = stablehlo.constant dense<16> : tensor<i32>
    %1 = stablehlo.compare LT, %index, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = func.call @row(%rows, %index) : (tensor<16x3xf32>, tensor<i32>) -> tensor<3xf32>
    %2 = stablehlo.multiply %sum, %1 : tensor<3xf32>
    %3 = stablehlo.add %2, %1 : tensor<3xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %4 = stablehlo.add %index, %one : tensor<i32>
    stablehlo.return %rows, %4, %3 : tensor<16x3xf32>, tensor<i32>, tensor<3xf32>
  }
  return %0#2 : tensor<3xf32>
}
func.func private @row(%x: tensor<16x3xf32>, %i: tensor<i32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 3]
      : (tensor<16x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}"""
ONE_GATHER = 12 * 3 * 4  # the rows of the other devices


@pytest.mark.parametrize("optimize", [True, False])
def test_scanned_rows_are_gathered_once(optimize: bool) -> None:
    program = Program.from_text(SCAN)
    program = program if optimize else program.without_optimizer()
    assert statistics_of(program.partition().local).bytes_sent <= ONE_GATHER


def test_results_stay_the_same() -> None:
    rows = np.random.default_rng(0).standard_normal((16, 3)).astype(np.float32)
    assert_same_on_shards(Program.from_text(SCAN), [rows])
