"""Cumulative sums, products, minima and maxima along sharded dims: one all-gather of the totals of all shards."""

from __future__ import annotations

import numpy as np
import pytest
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

from sdy.cost.collectives import CollectiveKind
from sdy.program.program import Program

MESHES = ('<["x"=4, "y"=2]>', '<["x"=4, "y"=2], device_ids=[6, 1, 0, 3, 2, 7, 4, 5]>')
IDENTITY = {
    ("add", "f32"): "0.0",
    ("add", "i32"): "0",
    ("multiply", "f32"): "1.0",
    ("maximum", "f32"): "0xFF800000",
    ("minimum", "f32"): "0x7F800000",
    ("minimum", "i32"): "2147483647",
    ("or", "i32"): "0",
    ("xor", "i32"): "0",
}


def cumulative(
    op: str,
    element: str,
    dim_shardings: str,
    init: str,
    dims: tuple[int, ...] = (0,),
    *,
    reverse: bool = False,
    mesh: str = "",
) -> Program:
    """Return a program with a cumulative `op`, from the start or the end, along some dims of 16x8 elements."""
    sizes = (16, 8)
    windows = [size if dim in dims else 1 for dim, size in enumerate(sizes)]
    padding = [[0, window - 1] if reverse else [window - 1, 0] for window in windows]
    tensor, scalar = f"tensor<16x8x{element}>", f"tensor<{element}>"
    init_operand = "%z" if init == "unknown" else "%c"
    return Program.from_text(
        f"""
sdy.mesh @m = {mesh or MESHES[0]}
func.func @main(%a: {tensor} {{sdy.sharding = #sdy.sharding<@m, {dim_shardings}>}}, %z: tensor<{element}>)
    -> ({tensor} {{sdy.sharding = #sdy.sharding<@m, {dim_shardings}>}}) {{
  %c = stablehlo.constant dense<{0 if init == "unknown" else init}> : {scalar}
  %init = stablehlo.broadcast_in_dim {init_operand}, dims = [] : ({scalar}) -> {scalar}
  %0 = "stablehlo.reduce_window"(%a, %init) <{{
      window_dimensions = array<i64: {windows[0]}, {windows[1]}>, padding = dense<{padding}> : tensor<2x2xi64>}}> ({{
  ^bb0(%p: tensor<{element}>, %q: tensor<{element}>):
    %s = stablehlo.{op} %p, %q : tensor<{element}>
    stablehlo.return %s : tensor<{element}>
  }}) : ({tensor}, tensor<{element}>) -> {tensor}
  return %0 : {tensor}
}}""".replace("dense<unknown>", "dense<0>")
    )


def elements(element: str, seed: int, zero: float = -0.0) -> np.ndarray:
    """Return random small integers, or floats with zeros, infinities and NaN; sums and products are exact."""
    generator = np.random.default_rng(seed)
    if element == "i32":
        return generator.integers(-5, 5, (16, 8), np.int32)
    special = np.array([1.0, -1.0, 2.0, 0.0, zero, np.inf, np.nan], np.float32)
    return generator.choice(special[: 3 + 2 * (seed % 3)], (16, 8))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("op", "element"), IDENTITY)
def test_one_sharded_dim(op: str, element: str, seed: int) -> None:
    dim_shardings = ('[{"x"}, {}]', '[{"y", "x"}, {}]', '[{"x":(2)2}, {"y"}]')[seed % 3]
    program = cumulative(
        op, element, dim_shardings, IDENTITY[op, element], reverse=seed % 2 == 1, mesh=MESHES[seed // 3]
    )
    assert count_of_collectives(program) == {CollectiveKind.ALL_GATHER: 1}
    # StableHLO does not define which of two zeros is larger.
    values = elements(element, seed, zero=-0.0 if op in ("add", "multiply") else 0.0)
    assert_same_on_shards(program, [values, np.array(3, values.dtype)])


@pytest.mark.parametrize("reverse", [False, True])
def test_two_sharded_dims(*, reverse: bool) -> None:
    program = cumulative("add", "i32", '[{"x"}, {"y"}]', "0", (0, 1), reverse=reverse)
    assert count_of_collectives(program) == {CollectiveKind.ALL_GATHER: 2}
    assert_same_on_shards(program, [elements("i32", 1), np.array(3, np.int32)])


def test_init_that_is_not_an_identity_element() -> None:
    program = cumulative("add", "i32", '[{"x"}, {}]', "7")
    assert_same_on_shards(program, [elements("i32", 1), np.array(3, np.int32)])
    unknown = cumulative("multiply", "i32", '[{"x"}, {}]', "unknown")
    assert_same_on_shards(unknown, [elements("i32", 1), np.array(3, np.int32)])


def test_unknown_init_of_idempotent_op() -> None:
    program = cumulative("maximum", "i32", '[{"x"}, {}]', "unknown")
    assert count_of_collectives(program) == {CollectiveKind.ALL_GATHER: 1}
    assert_same_on_shards(program, [elements("i32", 1), np.array(3, np.int32)])


def test_op_that_is_not_commutative() -> None:
    program = cumulative("subtract", "f32", '[{"x"}, {}]', "0.0")
    assert_same_on_shards(program, [elements("f32", 0), np.array(3, np.float32)])


def test_windows_along_another_sharded_dim() -> None:
    """Windows of three rows need halos, in which the op is cumulative along the columns, too."""
    program = Program.from_text(
        """
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16x8xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<16x8xi32> {
  %init = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%a, %init) <{
      window_dimensions = array<i64: 3, 8>, padding = dense<[[1, 1], [7, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<16x8xi32>, tensor<i32>) -> tensor<16x8xi32>
  return %0 : tensor<16x8xi32>
}"""
    )
    assert_same_on_shards(program, (elements("i32", 0),))
    assert count_of_collectives(program) == {CollectiveKind.COLLECTIVE_PERMUTE: 2, CollectiveKind.ALL_GATHER: 1}
    assert program.prove().is_proved
