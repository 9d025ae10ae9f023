"""Reductions along sharded dims that no all-reduce completes: one small all-gather of the results of all shards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

from sdy.cost.collectives import CollectiveKind
from sdy.program.program import Program

MESH = '<["x"=4, "y"=2]>'
DEVICES_OUT_OF_ORDER = '<["x"=4, "y"=2], device_ids=[6, 1, 0, 3, 2, 7, 4, 5]>'
ONE_GATHER = {CollectiveKind.ALL_GATHER: 1}
# The body of JAX's argmax (GT) and argmin (LT) for floats: NaN wins, then the first of equal elements.
BODY = """
 reducer(%p: tensor<{element}>, %q: tensor<{element}>) (%i: tensor<i32>, %j: tensor<i32>) {{
  %b = stablehlo.compare {direction}, %p, %q : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
  %n = stablehlo.compare NE, %p, %p : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
  %w = stablehlo.or %b, %n : tensor<i1>
  %e = stablehlo.compare EQ, %p, %q : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
  %l = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %t = stablehlo.and %e, %l : tensor<i1>
  %f = stablehlo.or %w, %t : tensor<i1>
  %v = stablehlo.select %w, %p, %q : tensor<i1>, tensor<{element}>
  %k = stablehlo.select %f, %i, %j : tensor<i1>, tensor<i32>
  stablehlo.return %v, %k : tensor<{element}>, tensor<i32>
}}
"""
SMALLEST = {"f32": "0xFF800000", "bf16": "0xFF80", "i32": "-2147483648", "ui8": "0"}
LARGEST = {"f32": "0x7F800000", "bf16": "0x7F80", "i32": "2147483647", "ui8": "255"}


def arg_extreme(
    sizes: Sequence[int], dim: int, dim_shardings: str, element: str = "f32", *, direction: str = "GT", mesh: str = MESH
) -> Program:
    """Return a program that computes the largest (GT) or smallest (LT) elements along a dim and their indices."""
    sizes_text = "x".join(map(str, sizes))
    result_text = "".join(f"{size}x" for index, size in enumerate(sizes) if index != dim)
    init = (SMALLEST if direction == "GT" else LARGEST)[element]
    types = f"(tensor<{result_text}{element}>, tensor<{result_text}i32>)"
    return Program.from_text(f"""
sdy.mesh @m = {mesh}
func.func @main(%a: tensor<{sizes_text}x{element}> {{sdy.sharding = #sdy.sharding<@m, {dim_shardings}>}}) -> {types} {{
  %at = stablehlo.iota dim = {dim} : tensor<{sizes_text}xi32>
  %init = stablehlo.constant dense<{init}> : tensor<{element}>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%a init: %init), (%at init: %zero) across dimensions = [{dim}]
    : (tensor<{sizes_text}x{element}>, tensor<{sizes_text}xi32>, tensor<{element}>, tensor<i32>) -> {types}
  {BODY.format(element=element, direction=direction)}
  return %0#0, %0#1 : tensor<{result_text}{element}>, tensor<{result_text}i32>
}}""")


def elements(program: Program, seed: int) -> np.ndarray:
    """Return random elements with few different values; floats include zeros of both signs, infinities and NaN."""
    ((shape, dtype),) = program.input_types
    generator = np.random.default_rng(seed)
    special = (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan)
    pool = (0, 1, 7) if dtype.kind in "iu" else special[: generator.integers(2, len(special) + 1)]
    return generator.choice(np.array(pool), shape).astype(dtype)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("sizes", "dim", "dim_shardings", "element"),
    [
        ((8, 64), 1, '[{}, {"x"}]', "f32"),
        ((64, 6), 0, '[{"y", "x"}, {}]', "f32"),
        ((4, 16, 6), 1, '[{"y"}, {"x"}, {}]', "bf16"),
        ((8,), 0, '[{"x"}]', "i32"),
        ((2, 32), 1, '[{}, {"x":(2)2, "y"}]', "ui8"),
    ],
)
def test_index_of_extreme(sizes: tuple[int, ...], dim: int, dim_shardings: str, element: str, seed: int) -> None:
    direction, mesh = ("GT", "LT")[seed % 2], (MESH, DEVICES_OUT_OF_ORDER)[seed % 3 == 0]
    program = arg_extreme(sizes, dim, dim_shardings, element, direction=direction, mesh=mesh)
    assert count_of_collectives(program) == ONE_GATHER
    assert_same_on_shards(program, [elements(program, seed)])


def test_elements_equal_to_the_init() -> None:
    program = arg_extreme((2, 16), 1, '[{}, {"x"}]')
    inputs = [np.full((2, 16), -np.inf, np.float32)]
    assert_same_on_shards(program, inputs)
    assert program.partition().run_flat(inputs)[1].tolist() == [0, 0]


def test_shards_of_one_element_are_gathered() -> None:
    program = arg_extreme((3, 4), 1, '[{}, {"x"}]')
    counts = count_of_collectives(program)
    assert counts == ONE_GATHER
    text = str(program.partition().local)
    assert "tensor<3x4xf32>" in text
    assert_same_on_shards(program, [elements(program, 0)])


REDUCE = """
sdy.mesh @m = {mesh}
func.func @main(%a: tensor<16x8x{element}> {{sdy.sharding = #sdy.sharding<@m, {dim_shardings}>}}, %z: tensor<{element}>)
    -> tensor<{result}{element}> {{
  %0 = "stablehlo.reduce"(%a, %z) <{{dimensions = array<i64: {dims}>}}> ({{
  ^bb0(%p: tensor<{element}>, %q: tensor<{element}>):
    {line}
    stablehlo.return %r : tensor<{element}>
  }}) : (tensor<16x8x{element}>, tensor<{element}>) -> tensor<{result}{element}>
  return %0 : tensor<{result}{element}>
}}"""


def reduction(line: str, element: str, dims: str = "0", dim_shardings: str = '[{"x"}, {}]') -> Program:
    result = "" if dims == "0, 1" else "8x" if dims == "0" else "16x"
    return Program.from_text(
        REDUCE.format(mesh=MESH, line=line, element=element, dims=dims, dim_shardings=dim_shardings, result=result)
    )


@pytest.mark.parametrize("op", ["multiply", "and", "or", "xor"])
@pytest.mark.parametrize(
    ("dims", "dim_shardings"), [("0", '[{"x"}, {}]'), ("0, 1", '[{"x"}, {"y"}]'), ("1", '[{"x"}, {"y"}]')]
)
def test_ops_without_all_reduce_kind_include_the_init_once(op: str, dims: str, dim_shardings: str) -> None:
    program = reduction(f"%r = stablehlo.{op} %p, %q : tensor<i32>", "i32", dims, dim_shardings)
    generator = np.random.default_rng(5)
    inputs = [generator.integers(-9, 9, (16, 8), np.int32), np.array(13, np.int32)]
    assert count_of_collectives(program) == ONE_GATHER
    assert_same_on_shards(program, inputs)


@pytest.mark.parametrize(
    ("line", "dims", "dim_shardings"),
    [
        ("%r = stablehlo.subtract %p, %q : tensor<f32>", "0", '[{"x"}, {}]'),
        ("%s = stablehlo.add %p, %p : tensor<f32>\n%r = stablehlo.add %s, %q : tensor<f32>", "0", '[{"x"}, {}]'),
        # Selects the second element unless it is less: which of two zeros is the result depends on the order.
        (
            "%c = stablehlo.compare GT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
            "%r = stablehlo.select %c, %p, %q : tensor<i1>, tensor<f32>",
            "0, 1",
            '[{}, {"x"}]',
        ),
    ],
)
def test_bodies_that_depend_on_the_order(line: str, dims: str, dim_shardings: str) -> None:
    program = reduction(line, "f32", dims, dim_shardings)
    generator = np.random.default_rng(7)
    inputs = [generator.choice(np.array([0.0, -0.0, 1.0], np.float32), (16, 8)), np.array(-1, np.float32)]
    assert_same_on_shards(program, inputs)


@pytest.mark.parametrize(
    "line",
    [
        "stablehlo.slice %0 [0:3] : (tensor<6xi32>) -> tensor<3xi32>",
        "stablehlo.negate %0 : tensor<6xi32>",
        "stablehlo.add %0, %0 : tensor<6xi32>",
    ],
)
def test_partial_maxima_are_not_added(line: str) -> None:
    result = line.rpartition(" ")[2]
    program = Program.from_text(f"""
sdy.mesh @m = {MESH}
func.func @main(%a: tensor<8x6xi32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}}) -> {result} {{
  %least = stablehlo.constant dense<-2147483648> : tensor<i32>
  %0 = stablehlo.reduce(%a init: %least) applies stablehlo.maximum across dimensions = [0]
    : (tensor<8x6xi32>, tensor<i32>) -> tensor<6xi32>
  %1 = {line}
  return %1 : {result}
}}""")
    assert_same_on_shards(program, [np.arange(48, dtype=np.int32).reshape(8, 6)])
