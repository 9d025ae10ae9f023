"""Running sums, products and extremes along cut dims: one gather of the totals of shards."""

from __future__ import annotations

import numpy as np
import pytest
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

from sdy.cost.collectives import CollectiveKind
from sdy.program.program import Program

MESHES = ('<["x"=4, "y"=2]>', '<["x"=4, "y"=2], device_ids=[6, 1, 0, 3, 2, 7, 4, 5]>')
NEUTRAL = {
    ("add", "f32"): "0.0",
    ("add", "i32"): "0",
    ("multiply", "f32"): "1.0",
    ("maximum", "f32"): "0xFF800000",
    ("minimum", "f32"): "0x7F800000",
    ("minimum", "i32"): "2147483647",
    ("or", "i32"): "0",
    ("xor", "i32"): "0",
}


def running(
    op: str, element: str, cuts: str, init: str, dims: tuple[int, ...] = (0,), *, reverse: bool = False, mesh: str = ""
) -> Program:
    """`op` folded from the start, or the end, of some dims of 16x8 elements up to each element."""
    sizes = (16, 8)
    windows = [size if dim in dims else 1 for dim, size in enumerate(sizes)]
    padding = [[0, window - 1] if reverse else [window - 1, 0] for window in windows]
    whole, scalar = f"tensor<16x8x{element}>", f"tensor<{element}>"
    given = "%z" if init == "unknown" else "%c"
    return Program.from_text(
        f"""
sdy.mesh @m = {mesh or MESHES[0]}
func.func @main(%a: {whole} {{sdy.sharding = #sdy.sharding<@m, {cuts}>}}, %z: tensor<{element}>)
    -> ({whole} {{sdy.sharding = #sdy.sharding<@m, {cuts}>}}) {{
  %c = stablehlo.constant dense<{0 if init == "unknown" else init}> : {scalar}
  %init = stablehlo.broadcast_in_dim {given}, dims = [] : ({scalar}) -> {scalar}
  %0 = "stablehlo.reduce_window"(%a, %init) <{{
      window_dimensions = array<i64: {windows[0]}, {windows[1]}>, padding = dense<{padding}> : tensor<2x2xi64>}}> ({{
  ^bb0(%p: tensor<{element}>, %q: tensor<{element}>):
    %s = stablehlo.{op} %p, %q : tensor<{element}>
    stablehlo.return %s : tensor<{element}>
  }}) : ({whole}, tensor<{element}>) -> {whole}
  return %0 : {whole}
}}""".replace("dense<unknown>", "dense<0>")
    )


def elements(element: str, seed: int, zero: float = -0.0) -> np.ndarray:
    """A few small numbers, exactly added and multiplied; zeros, infinities and NaN among the floats."""
    generator = np.random.default_rng(seed)
    if element == "i32":
        return generator.integers(-5, 5, (16, 8), np.int32)
    special = np.array([1.0, -1.0, 2.0, 0.0, zero, np.inf, np.nan], np.float32)
    return generator.choice(special[: 3 + 2 * (seed % 3)], (16, 8))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("op", "element"), NEUTRAL)
def test_running_along_one_dim(op: str, element: str, seed: int) -> None:
    cuts = ('[{"x"}, {}]', '[{"y", "x"}, {}]', '[{"x":(2)2}, {"y"}]')[seed % 3]
    program = running(op, element, cuts, NEUTRAL[op, element], reverse=seed % 2 == 1, mesh=MESHES[seed // 3])
    assert count_of_collectives(program) == {CollectiveKind.ALL_GATHER: 1}
    # Which of two zeros is the larger, StableHLO leaves open.
    values = elements(element, seed, zero=-0.0 if op in ("add", "multiply") else 0.0)
    assert_same_on_shards(program, [values, np.array(3, values.dtype)])


@pytest.mark.parametrize("reverse", [False, True])
def test_running_along_two_cut_dims(*, reverse: bool) -> None:
    program = running("add", "i32", '[{"x"}, {"y"}]', "0", (0, 1), reverse=reverse)
    assert count_of_collectives(program) == {CollectiveKind.ALL_GATHER: 2}
    assert_same_on_shards(program, [elements("i32", 1), np.array(3, np.int32)])


def test_an_init_that_would_count_once_per_shard_keeps_the_dim_whole() -> None:
    program = running("add", "i32", '[{"x"}, {}]', "7")
    assert_same_on_shards(program, [elements("i32", 1), np.array(3, np.int32)])
    unknown = running("multiply", "i32", '[{"x"}, {}]', "unknown")
    assert_same_on_shards(unknown, [elements("i32", 1), np.array(3, np.int32)])


def test_an_init_that_may_count_several_times_may_be_any() -> None:
    program = running("maximum", "i32", '[{"x"}, {}]', "unknown")
    assert count_of_collectives(program) == {CollectiveKind.ALL_GATHER: 1}
    assert_same_on_shards(program, [elements("i32", 1), np.array(3, np.int32)])


def test_what_has_an_order_keeps_the_dim_whole() -> None:
    program = running("subtract", "f32", '[{"x"}, {}]', "0.0")
    assert_same_on_shards(program, [elements("f32", 0), np.array(3, np.float32)])
