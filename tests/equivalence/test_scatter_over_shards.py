"""Scatter updates that overlap several shards: each device writes the elements that are in its shard."""

from __future__ import annotations

import numpy as np
import pytest
from support.execution.covered_starts import FROM_ZERO, NOT_FROM_ZERO, starts_of
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

from sdy.interpreter.arrays.element_types import Array
from sdy.program.program import Program

MESHES = ('<["x"=4, "y"=2]>', '<["x"=4, "y"=2], device_ids=[6, 1, 0, 3, 2, 7, 4, 5]>')
SET = "stablehlo.return %q : tensor<f32>"
ADD = "%s = stablehlo.add %p, %q : tensor<f32>\n stablehlo.return %s : tensor<f32>"


def scatter(window: int, count: int, index: str, body: str, dim_shardings: str, mesh: str = MESHES[0]) -> Program:
    """Return a program that scatters replicated updates of `window` rows into 16 rows."""
    inputs = f"tensor<16x6xf32>, tensor<{count}x1x{index}>, tensor<{count}x{window}x6xf32>"
    shape, indices, updates = inputs.split(", ")
    return Program.from_text(f"""
sdy.mesh @m = {mesh}
func.func @main(%a: {shape} {{sdy.sharding = #sdy.sharding<@m, {dim_shardings}>}}, %i: {indices}, %u: {updates})
    -> ({shape} {{sdy.sharding = #sdy.sharding<@m, {dim_shardings}>}}) {{
  %0 = "stablehlo.scatter"(%a, %i, %u) <{{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    {body}
  }}) : ({inputs}) -> {shape}
  return %0 : {shape}
}}""")


@pytest.mark.parametrize("window", [0, 1, 2, 3, 5, 13, 15])
@pytest.mark.parametrize("index", ["i32", "ui8", "i8"])
@pytest.mark.parametrize("dim_shardings", ['[{"x"}, {}]', '[{"x", "y"}, {}]', '[{"x"}, {"y"}]'])
def test_random_updates(window: int, index: str, dim_shardings: str) -> None:
    generator = np.random.default_rng(window)
    low, high = (0, 17) if index == "ui8" else (-3, 19)  # some are out of bounds
    program = scatter(window, 3, index, ADD, dim_shardings, MESHES[window % 2])
    (shape, _), (_, index_dtype), (update_shape, _) = program.input_types
    values, updates = (generator.standard_normal(each).astype(np.float32) for each in (shape, update_shape))
    indices = np.sort(generator.integers(low, high, (3, 1)), axis=0).astype(index_dtype)
    assert count_of_collectives(program) == {}
    assert_same_on_shards(program, [values, indices, updates])


@pytest.mark.parametrize("start", range(-4, 17))
def test_slice_update(start: int) -> None:
    program = scatter(5, 1, "i32", SET, '[{"x"}, {}]')
    values = np.arange(96, dtype=np.float32).reshape(16, 6)
    update = -1 - np.arange(30, dtype=np.float32).reshape(1, 5, 6)
    assert count_of_collectives(program) == {}
    assert_same_on_shards(program, [values, np.array([[start]], np.int32), update])


@pytest.mark.parametrize("index", ["ui8", "ui32", "ui64", "i8", "i64"])
def test_largest_and_least_index_is_dropped(index: str) -> None:
    program = scatter(5, 2, index, ADD, '[{"x"}, {}]')
    (_, _), (_, index_dtype), _ = program.input_types
    bounds = np.iinfo(index_dtype.name)
    least = [] if bounds.min == 0 else [bounds.min, bounds.min + 1]
    values, updates = np.zeros((16, 6), np.float32), np.ones((2, 5, 6), np.float32)
    for start in [*least, bounds.max - 1, bounds.max]:
        (result,) = program.partition().run_flat([values, np.full((2, 1), start, index_dtype), updates])
        assert not result.any()


def test_update_of_the_size_of_the_dim() -> None:
    program = scatter(16, 1, "i32", SET, '[{"x"}, {}]')
    values = np.arange(96, dtype=np.float32).reshape(16, 6)
    assert_same_on_shards(program, [values, np.array([[3]], np.int32), -values[None] - 1])


def cache_update(sharding: str, heads: int, starts: str) -> Program:
    """Return an update of a cache (batch, positions, heads, features) at a position per sequence, as JAX writes it."""
    cache, update = f"tensor<4x16x{heads}x2xf32>", f"tensor<4x1x{heads}x2xf32>"
    return Program.from_text(f"""
sdy.mesh @m = {MESHES[1]}
func.func @main(%a: {cache} {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}, %i: tensor<4x1xi32>,
    %n: tensor<4x1xi32>, %u: {update}) -> ({cache} {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}) {{
  {starts_of(starts, "%i", "%n", heads)}
  %o = stablehlo.constant dense<0> : tensor<4x1xi32>
  %s = stablehlo.concatenate %i, %h, %o, dim = 1
    : (tensor<4x1xi32>, tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x3xi32>
  %0 = "stablehlo.scatter"(%a, %s, %u) <{{indices_are_sorted = true, unique_indices = true,
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2, 3], input_batching_dims = [0],
      scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1, 2, 3], index_vector_dim = 1>}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    {SET}
  }}) : ({cache}, tensor<4x3xi32>, {update}) -> {cache}
  return %0 : {cache}
}}""")


def cache_inputs(heads: int) -> list[Array]:
    """Return a cache, positions of which one is out of bounds, numbers and updates."""
    update = 1 + np.arange(8 * heads, dtype=np.float32).reshape(4, 1, heads, 2)
    positions, numbers = np.array([[[3], [15], [0], [16]], [[1], [0], [7], [20]]], np.int32)
    return [np.zeros((4, 16, heads, 2), np.float32), positions, numbers, update]


@pytest.mark.parametrize("starts", FROM_ZERO)
@pytest.mark.parametrize(
    ("sharding", "heads"),
    [('[{"x"}, {}, {"y"}, {}]', 8), ('[{}, {}, {"y", "x"}, {}]', 8), ('[{}, {}, {"x"}, {}]', 6)],
)
def test_heads_of_a_cache_are_updated_on_their_devices(starts: str, sharding: str, heads: int) -> None:
    program = cache_update(sharding, heads, FROM_ZERO[starts])
    assert count_of_collectives(program) == {}
    assert_same_on_shards(program, cache_inputs(heads))
    assert program.prove().is_proved


@pytest.mark.parametrize("starts", NOT_FROM_ZERO)
def test_heads_are_gathered_if_updates_may_start_elsewhere(starts: str) -> None:
    program = cache_update('[{"x"}, {}, {"y"}, {}]', 8, NOT_FROM_ZERO[starts])
    assert count_of_collectives(program) != {}
    assert_same_on_shards(program, cache_inputs(8))


@pytest.mark.parametrize("starts", [(0, 0), (3, 1), (7, 2), (-1, 1), (6, 3)])
def test_two_sharded_indexed_dims(starts: tuple[int, int]) -> None:
    program = Program.from_text(f"""
sdy.mesh @m = {MESHES[1]}
func.func @main(%a: tensor<8x4xi32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{"y"}}]>}}, %i: tensor<2xi32>,
    %u: tensor<3x2xi32>) -> (tensor<8x4xi32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{"y"}}]>}}) {{
  %0 = "stablehlo.scatter"(%a, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}}> ({{
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.maximum %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }}) : (tensor<8x4xi32>, tensor<2xi32>, tensor<3x2xi32>) -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}}""")
    generator = np.random.default_rng(3)
    values, update = (generator.integers(0, 9, shape).astype(np.int32) for shape in ((8, 4), (3, 2)))
    assert count_of_collectives(program) == {}
    assert_same_on_shards(program, [values, np.array(starts, np.int32), update])
