"""Reductions that no all-reduce completes, along cut dims: one small gather, and the result of the whole program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

from sdy.cost.collectives import CollectiveKind
from sdy.program.program import Program

MESH = '<["x"=4, "y"=2]>'
OUT_OF_ORDER = '<["x"=4, "y"=2], device_ids=[6, 1, 0, 3, 2, 7, 4, 5]>'
ONE_GATHER = {CollectiveKind.ALL_GATHER: 1}
# The body that JAX gives argmax (GT) and argmin (LT) of floats: NaN wins, and of equal elements the first.
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
LEAST = {"f32": "0xFF800000", "bf16": "0xFF80", "i32": "-2147483648", "ui8": "0"}
LARGEST = {"f32": "0x7F800000", "bf16": "0x7F80", "i32": "2147483647", "ui8": "255"}


def arg_extreme(
    sizes: Sequence[int], dim: int, cuts: str, element: str = "f32", *, direction: str = "GT", mesh: str = MESH
) -> Program:
    """The largest (GT) or least (LT) elements along a dim, and their places."""
    whole = "x".join(map(str, sizes))
    kept = "".join(f"{size}x" for place, size in enumerate(sizes) if place != dim)
    init = (LEAST if direction == "GT" else LARGEST)[element]
    types = f"(tensor<{kept}{element}>, tensor<{kept}i32>)"
    return Program.from_text(f"""
sdy.mesh @m = {mesh}
func.func @main(%a: tensor<{whole}x{element}> {{sdy.sharding = #sdy.sharding<@m, {cuts}>}}) -> {types} {{
  %at = stablehlo.iota dim = {dim} : tensor<{whole}xi32>
  %init = stablehlo.constant dense<{init}> : tensor<{element}>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%a init: %init), (%at init: %zero) across dimensions = [{dim}]
    : (tensor<{whole}x{element}>, tensor<{whole}xi32>, tensor<{element}>, tensor<i32>) -> {types}
  {BODY.format(element=element, direction=direction)}
  return %0#0, %0#1 : tensor<{kept}{element}>, tensor<{kept}i32>
}}""")


def elements(program: Program, seed: int) -> np.ndarray:
    """Few different elements, so that many are equal, with zeros of both signs, infinities and NaN."""
    ((shape, dtype),) = program.input_types
    generator = np.random.default_rng(seed)
    special = (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan)
    pool = (0, 1, 7) if dtype.kind in "iu" else special[: generator.integers(2, len(special) + 1)]
    return generator.choice(np.array(pool), shape).astype(dtype)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("sizes", "dim", "cuts", "element"),
    [
        ((8, 64), 1, '[{}, {"x"}]', "f32"),
        ((64, 6), 0, '[{"y", "x"}, {}]', "f32"),
        ((4, 16, 6), 1, '[{"y"}, {"x"}, {}]', "bf16"),
        ((8,), 0, '[{"x"}]', "i32"),
        ((2, 32), 1, '[{}, {"x":(2)2, "y"}]', "ui8"),
    ],
)
def test_place_of_extreme(sizes: tuple[int, ...], dim: int, cuts: str, element: str, seed: int) -> None:
    direction, mesh = ("GT", "LT")[seed % 2], (MESH, OUT_OF_ORDER)[seed % 3 == 0]
    program = arg_extreme(sizes, dim, cuts, element, direction=direction, mesh=mesh)
    assert count_of_collectives(program) == ONE_GATHER
    assert_same_on_shards(program, [elements(program, seed)])


def test_elements_that_are_all_no_better_than_the_init() -> None:
    program = arg_extreme((2, 16), 1, '[{}, {"x"}]')
    inputs = [np.full((2, 16), -np.inf, np.float32)]
    assert_same_on_shards(program, inputs)
    assert program.partition().run_flat(inputs)[1].tolist() == [0, 0]


def test_shards_of_one_element_are_gathered_whole() -> None:
    program = arg_extreme((3, 4), 1, '[{}, {"x"}]')
    counts = count_of_collectives(program)
    assert counts == ONE_GATHER
    text = str(program.partition().local)
    assert "tensor<3x4xf32>" in text
    assert_same_on_shards(program, [elements(program, 0)])


REDUCE = """
sdy.mesh @m = {mesh}
func.func @main(%a: tensor<16x8x{element}> {{sdy.sharding = #sdy.sharding<@m, {cuts}>}}, %z: tensor<{element}>)
    -> tensor<{result}{element}> {{
  %0 = "stablehlo.reduce"(%a, %z) <{{dimensions = array<i64: {dims}>}}> ({{
  ^bb0(%p: tensor<{element}>, %q: tensor<{element}>):
    {line}
    stablehlo.return %r : tensor<{element}>
  }}) : (tensor<16x8x{element}>, tensor<{element}>) -> tensor<{result}{element}>
  return %0 : tensor<{result}{element}>
}}"""


def reduction(line: str, element: str, dims: str = "0", cuts: str = '[{"x"}, {}]') -> Program:
    result = "" if dims == "0, 1" else "8x" if dims == "0" else "16x"
    return Program.from_text(REDUCE.format(mesh=MESH, line=line, element=element, dims=dims, cuts=cuts, result=result))


@pytest.mark.parametrize("op", ["multiply", "and", "or", "xor"])
@pytest.mark.parametrize(("dims", "cuts"), [("0", '[{"x"}, {}]'), ("0, 1", '[{"x"}, {"y"}]'), ("1", '[{"x"}, {"y"}]')])
def test_ops_that_are_no_kind_of_all_reduce_count_an_init_once(op: str, dims: str, cuts: str) -> None:
    program = reduction(f"%r = stablehlo.{op} %p, %q : tensor<i32>", "i32", dims, cuts)
    generator = np.random.default_rng(5)
    inputs = [generator.integers(-9, 9, (16, 8), np.int32), np.array(13, np.int32)]
    assert count_of_collectives(program) == ONE_GATHER
    assert_same_on_shards(program, inputs)


@pytest.mark.parametrize(
    ("line", "dims", "cuts"),
    [
        ("%r = stablehlo.subtract %p, %q : tensor<f32>", "0", '[{"x"}, {}]'),
        ("%s = stablehlo.add %p, %p : tensor<f32>\n%r = stablehlo.add %s, %q : tensor<f32>", "0", '[{"x"}, {}]'),
        # The second element, if it is not less: which of the two zeros comes out depends on the order.
        (
            "%c = stablehlo.compare GT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
            "%r = stablehlo.select %c, %p, %q : tensor<i1>, tensor<f32>",
            "0, 1",
            '[{}, {"x"}]',
        ),
    ],
)
def test_what_depends_on_the_order_stays_in_order(line: str, dims: str, cuts: str) -> None:
    program = reduction(line, "f32", dims, cuts)
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
def test_maxima_of_shards_are_no_summands(line: str) -> None:
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
