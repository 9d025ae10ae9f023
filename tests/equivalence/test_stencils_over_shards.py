"""Stencils on values that are extended at the ends of sharded dims: devices send the edges of their shards."""

from __future__ import annotations

import numpy as np
import pytest
from support.execution.on_shards import assert_same_on_shards
from support.execution.stencils import stencil

from sdy.cost.statistics import statistics_of
from sdy.program.program import Program

MODES = ("wrap", "edge", "reflect")
MESH = '<["x"=4, "y"=2]>'
CROSS = [(1, 0), (-1, 0), (0, 1), (0, -1)]
SQUARE = [(row, column) for row in (-1, 0, 1) for column in (-1, 0, 1)]
FAR = [(2, 0), (-2, 0), (1, 0), (0, -2)]


def check(program: Program) -> float:
    """Check a program on shards, and return the bytes that each device sends."""
    inputs = [np.random.default_rng(3).integers(0, 100, shape).astype(dtype) for shape, dtype in program.input_types]
    assert_same_on_shards(program, inputs)
    return statistics_of(program.partition().local).bytes_sent


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("points", [CROSS, SQUARE, FAR], ids=["cross", "square", "far"])
@pytest.mark.parametrize("sharding", ['[{"x"}, {"y"}]', '[{"x", "y"}, {}]', '[{}, {"x"}]', '[{"x":(1)2}, {"y"}]'])
def test_stencils_of_two_dims(mode: str, points: list[tuple[int, ...]], sharding: str) -> None:
    program = Program.from_text(stencil(mode, (32, 24), (0, 1), points, sharding, MESH))
    check(program)


@pytest.mark.parametrize("mode", MODES)
def test_stencils_of_three_dims(mode: str) -> None:
    points = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    check(Program.from_text(stencil(mode, (16, 16, 8), (0, 1, 2), points, '[{"x"}, {"y"}, {}]', MESH)))


@pytest.mark.parametrize(("sharding", "rows_and_columns"), [('[{"x"}, {"y"}]', 2 * 128 + 2 * 64), ('[{"x"}, {}]', 512)])
def test_a_periodic_stencil_sends_one_row_to_each_neighbour(sharding: str, rows_and_columns: int) -> None:
    program = Program.from_text(stencil("wrap", (256, 256), (0, 1), CROSS, sharding, MESH))
    assert check(program) == 4 * rows_and_columns


@pytest.mark.parametrize("mode", ["edge", "reflect"])
def test_other_stencils_send_a_few_rows(mode: str) -> None:
    """An end is looked up by all devices: an all-reduce sends about twice its elements."""
    program = Program.from_text(stencil(mode, (256, 256), (0, 1), CROSS, '[{"x"}, {"y"}]', MESH))
    assert check(program) <= 4 * 3 * (2 * 128 + 2 * 64)


def test_rows_are_shared_by_the_points_of_a_square() -> None:
    program = Program.from_text(stencil("wrap", (256, 256), (0, 1), SQUARE, '[{"x"}, {"y"}]', MESH))
    rows, columns = 2 * 128, 3 * 2 * 64
    assert check(program) == 4 * (rows + columns)


def test_a_dim_that_is_not_sharded_is_padded_by_no_elements() -> None:
    """`jnp.pad` concatenates values without elements along dims that it does not pad."""
    program = Program.from_text("""
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<8x16xf32> {
  %0 = stablehlo.slice %a [0:8, 0:0] : (tensor<8x16xf32>) -> tensor<8x0xf32>
  %1 = stablehlo.concatenate %0, %a, %0, dim = 1
    : (tensor<8x0xf32>, tensor<8x16xf32>, tensor<8x0xf32>) -> tensor<8x16xf32>
  %2 = stablehlo.slice %1 [0:8, 0:16] : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}""")
    assert check(program) == 0


@pytest.mark.parametrize(("sharding", "width", "rows"), [('{"y"}', 1, 2), ('{"x"}', 2, 5)])
def test_a_value_that_is_extended_at_its_ends_is_not_gathered(sharding: str, width: int, rows: int) -> None:
    """The axes divide the result of 34 or 36 rows, and the value, but not the rows at the ends."""
    count = 32 + 2 * width
    program = Program.from_text(f"""
sdy.mesh @m = {MESH}
func.func @main(%a: tensor<32x64xf32> {{sdy.sharding = #sdy.sharding<@m, [{sharding}, {{}}]>}})
    -> tensor<{count}x64xf32> {{
  %0 = stablehlo.slice %a [{32 - width}:32, 0:64] : (tensor<32x64xf32>) -> tensor<{width}x64xf32>
  %1 = stablehlo.slice %a [0:{width}, 0:64] : (tensor<32x64xf32>) -> tensor<{width}x64xf32>
  %2 = stablehlo.concatenate %0, %a, %1, dim = 0
    : (tensor<{width}x64xf32>, tensor<32x64xf32>, tensor<{width}x64xf32>) -> tensor<{count}x64xf32>
  %3 = stablehlo.tanh %2 {{sdy.sharding = #sdy.sharding_per_value<[<@m, [{sharding}, {{}}]>]>}} : tensor<{count}x64xf32>
  return %3 : tensor<{count}x64xf32>
}}""")
    assert check(program) == rows * 64 * 4
