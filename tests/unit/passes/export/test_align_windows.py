"""Convolutions and pooling with other sizes compute the same, on one device and on shards."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support.execution.before_and_after import before_and_after
from support.execution.on_shards import assert_same_on_shards, count_of_collectives

from sdy.cost.collectives import CollectiveKind
from sdy.cost.statistics import statistics_of
from sdy.dialects.module_text import parse_module
from sdy.evidence.runs.arrays import random_inputs
from sdy.passes.export.uneven.align_windows import AlignWindowsPass, unaligned_windows
from sdy.program.program import Program

ROWS = '#sdy.sharding<@m, [{}, {"x"}, {}]>'
SHARDED = f"{{sdy.sharding = #sdy.sharding_per_value<[{ROWS.removeprefix('#sdy.sharding')}]>}}"
POOLING = {"add": "0.0", "maximum": "0xFF800000"}


def program(seed: int) -> str:
    """Return a program of a chain of convolutions and pooling along the sharded dim of lines."""
    choose = random.Random(seed)
    size, value, lines = choose.choice((32, 34, 40, 45)), "%a", list[str]()
    before = f"tensor<2x{size}x3xf32>"
    argument = before
    for number in range(choose.randint(1, 3)):
        kernel, stride = choose.randint(2, 3), choose.choice((1, 1, 2))
        low, high = choose.choice(((0, 0), (0, 0), (1, 0), (0, 2), (2, 2)))
        size = (low + size + high - kernel) // stride + 1
        after = f"tensor<2x{size}x3xf32>"
        if choose.random() < 0.5:
            lines.append(
                f"%{number} = stablehlo.convolution({value}, %k{kernel}) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
                f"window = {{stride = [{stride}], pad = [[{low}, {high}]]}} {{batch_group_count = 1 : i64, "
                f"feature_group_count = 1 : i64, {SHARDED[1:-1]}}} : ({before}, tensor<{kernel}x3x3xf32>) -> {after}"
            )
        else:
            name = choose.choice(list(POOLING))
            lines.append(
                f'%{number} = "stablehlo.reduce_window"({value}, %{name}) <{{padding = dense<[[0, 0], [{low}, {high}], '
                f"[0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, {kernel}, 1>, window_strides = "
                f"array<i64: 1, {stride}, 1>}}> ({{\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n    "
                f"%r = stablehlo.{name} %x, %y : tensor<f32>\n    stablehlo.return %r : tensor<f32>\n  }}) {SHARDED} "
                f": ({before}, tensor<f32>) -> {after}"
            )
        value, before = f"%{number}", after
    rows = ROWS if "x32x" in argument or "x40x" in argument else ROWS.replace('{"x"}', "{}")
    inits = "\n  ".join(f"%{name} = stablehlo.constant dense<{init}> : tensor<f32>" for name, init in POOLING.items())
    body = "\n  ".join(lines)
    return f"""
sdy.mesh @m = <["x"=4]>
func.func @main(%a: {argument} {{sdy.sharding = {rows}}},
    %k2: tensor<2x3x3xf32>, %k3: tensor<3x3x3xf32>) -> {before} {{
  {inits}
  {body}
  return {value} : {before}
}}"""


@pytest.mark.parametrize("seed", range(60))
def test_aligned_windows_compute_the_same(seed: int) -> None:
    before, after, module = before_and_after(program(seed), AlignWindowsPass(), seed)
    np.testing.assert_allclose(after.astype(np.float64), before.astype(np.float64), rtol=1e-5, atol=1e-5)
    assert not any(unaligned_windows(module))


def test_most_programs_have_unaligned_windows() -> None:
    assert sum(any(unaligned_windows(parse_module(program(seed)))) for seed in range(60)) > 30


@pytest.mark.parametrize("seed", range(30))
def test_aligned_windows_compute_the_same_on_shards(seed: int) -> None:
    found = Program.from_text(program(seed))
    assert_same_on_shards(found, random_inputs(found.module, seed))
    assert found.prove().is_proved


def valid(length: int) -> Program:
    """Return a program whose inner values are rows that two convolutions without padding shorten."""
    text = f"""
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x{length}x16xf32> {{sdy.sharding = {ROWS}}}, %k: tensor<3x16x16xf32>) -> tensor<f32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
"""
    for number, (value, size) in enumerate((("%a", length), ("%0", length - 2))):
        text += (
            f"  %{number} = stablehlo.convolution({value}, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
            f"window = {{}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64, {SHARDED[1:-1]}}} "
            f": (tensor<8x{size}x16xf32>, tensor<3x16x16xf32>) -> tensor<8x{size - 2}x16xf32>\n"
        )
    return Program.from_text(
        f"""{text}  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2]
      : (tensor<8x{length - 4}x16xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}}"""
    )


def scattered(size: int, kernel: int, stride: int) -> Program:
    """Return the gradient of max pooling along rows, whose windows leave rows at the end of each shard, or of all."""
    windows = (size - kernel) // stride + 1
    operand, source = f"tensor<2x{size}x3xf32>", f"tensor<2x{windows}x3xf32>"
    return Program.from_text(f"""
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<2x32x3xf32> {{sdy.sharding = {ROWS}}}, %b: {source}) -> tensor<f32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %a [0:2, 0:{size}, 0:3] {SHARDED} : (tensor<2x32x3xf32>) -> {operand}
  %1 = "stablehlo.select_and_scatter"(%0, %b, %zero) <{{window_dimensions = array<i64: 1, {kernel}, 1>,
      window_strides = array<i64: 1, {stride}, 1>}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %r : tensor<i1>
  }}, {{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %r : tensor<f32>
  }}) {SHARDED} : ({operand}, {source}, tensor<f32>) -> {operand}
  %2 = stablehlo.multiply %1, %0 {SHARDED} : {operand}
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2]
      : ({operand}, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}}""")


@pytest.mark.parametrize(("size", "kernel", "stride"), [(32, 2, 2), (30, 2, 2), (29, 2, 3), (31, 3, 3), (27, 1, 2)])
def test_scattered_windows_are_computed_on_shards(size: int, kernel: int, stride: int) -> None:
    found = scattered(size, kernel, stride)
    assert_same_on_shards(found, random_inputs(found.module, 0))
    assert CollectiveKind.ALL_GATHER not in count_of_collectives(found)


def test_convolutions_without_padding_exchange_halos() -> None:
    found = valid(256)
    assert set(count_of_collectives(found)) == {CollectiveKind.COLLECTIVE_PERMUTE, CollectiveKind.ALL_REDUCE}
    assert_same_on_shards(found, random_inputs(found.module, 0))
    assert found.prove().is_proved
    large = valid(1 << 20)
    assert set(count_of_collectives(large)) == {CollectiveKind.COLLECTIVE_PERMUTE, CollectiveKind.ALL_REDUCE}


def test_shards_add_to_the_gradient_of_a_kernel() -> None:
    """The cotangent, which is the kernel of the gradient, has fewer rows than the input, in other shards."""
    images, results, kernel = "tensor<8x64x16xf32>", "tensor<8x62x16xf32>", "tensor<3x16x16xf32>"
    groups = "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
    found = Program.from_text(f"""
sdy.mesh @m = <["x"=4]>
func.func @main(%a: {images} {{sdy.sharding = {ROWS}}}, %k: {kernel}) -> {kernel} {{
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{}}
    {groups} : ({images}, {kernel}) -> {results}
  %1 = stablehlo.tanh %0 : {results}
  %2 = stablehlo.convolution(%a, %1) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {{}}
    {groups} : ({images}, {results}) -> {kernel}
  return %2 : {kernel}
}}""")
    assert statistics_of(found.partition().local).bytes_sent <= 5632
    assert_same_on_shards(found, random_inputs(found.module, 0))
