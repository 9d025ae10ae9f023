"""Ops that treat parts of a dim independently of each other, although Shardy's rules replicate the dim."""

from __future__ import annotations

import pytest
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

from sdy.evidence.runs.arrays import random_inputs
from sdy.program.program import Program

SELECT_AND_ADD = """({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  })"""


def gradient_of_max_pooling(size: int, window: int, stride: int, low: int = 0) -> Program:
    """Return a program that scatters gradients to the largest elements of windows along a dim over 4 devices."""
    windows = (size + low - window) // stride + 1
    operand, source = f"tensor<3x{size}xf32>", f"tensor<3x{windows}xf32>"
    sharding = '{sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}'
    return Program.from_text(f"""
sdy.mesh @m = <["x"=4]>
func.func @main(%a: {operand} {sharding}, %g: {source} {sharding}) -> ({operand} {sharding}) {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%a, %g, %z) <{{
    window_dimensions = array<i64: 1, {window}>, window_strides = array<i64: 1, {stride}>,
    padding = dense<[[0, 0], [{low}, 0]]> : tensor<2x2xi64>}}> {SELECT_AND_ADD}
    : ({operand}, {source}, tensor<f32>) -> {operand}
  return %0 : {operand}
}}""")


@pytest.mark.parametrize(("size", "window", "stride"), [(8, 2, 2), (24, 3, 3), (16, 2, 4)])
def test_windows_that_tile_the_operand_stay_on_their_devices(size: int, window: int, stride: int) -> None:
    program = gradient_of_max_pooling(size, window, stride)
    assert count_of_collectives(program) == {}
    assert_same_on_shards(program, random_inputs(program.module, 0))


@pytest.mark.parametrize(("size", "window", "stride", "low"), [(12, 4, 3, 1), (8, 2, 2, 8), (16, 4, 4, 0)])
def test_other_windows_compute_the_same(size: int, window: int, stride: int, low: int) -> None:
    program = gradient_of_max_pooling(size, window, stride, low)
    assert_same_on_shards(program, random_inputs(program.module, 0))


def triangular_solve(transpose: str, columns: int, *, is_left: bool) -> Program:
    """Return a program that solves systems of equations, one per column or row of a matrix over 4 devices."""
    shape = (5, columns) if is_left else (columns, 5)
    dims = '[{}, {"x"}]' if is_left else '[{"x"}, {}]'
    matrix = f"tensor<{shape[0]}x{shape[1]}xf32>"
    return Program.from_text(f"""
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<5x5xf32>, %b: {matrix}) -> {matrix} {{
  %0 = sdy.sharding_constraint %b <@m, {dims}> : {matrix}
  %1 = "stablehlo.triangular_solve"(%a, %0) <{{left_side = {str(is_left).lower()}, lower = true,
    unit_diagonal = true, transpose_a = #stablehlo<transpose {transpose}>}}> : (tensor<5x5xf32>, {matrix}) -> {matrix}
  %2 = sdy.sharding_constraint %1 <@m, {dims}> : {matrix}
  return %2 : {matrix}
}}""")


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize("columns", [8, 7])
def test_each_device_solves_its_own_systems(transpose: str, columns: int, *, is_left: bool) -> None:
    program = triangular_solve(transpose, columns, is_left=is_left)
    assert {kind.value for kind in count_of_collectives(program)} <= {
        "all_gather"
    }  # of the result, which is replicated
    assert sum(count_of_collectives(program).values()) <= 1
    assert_same_on_shards(program, random_inputs(program.module, 0))
