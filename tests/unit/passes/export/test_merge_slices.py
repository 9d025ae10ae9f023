"""Slices, pads and concatenations that are merged compute the same, on one device and on shards."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support.execution.before_and_after import before_and_after
from support.execution.on_shards import assert_same_on_shards

from sdy.cost.traffic import sends_of
from sdy.evidence.runs.arrays import random_inputs
from sdy.passes.export.optimize.merge_slices import MergeSlicesPass
from sdy.program.program import Program

# The ops after `%r = reverse %a` and `%s = reverse %b` along both dims, one sharded; and the bytes of float16 shards of
# [4, 3] that each device sends.
REVERSALS = {
    "%e = stablehlo.exponential %r; %v = stablehlo.reverse %e, dims = [0, 1]": 0,
    "%e = stablehlo.exponential %r; %v = stablehlo.reverse %e, dims = [1]": 24,
    "%e = stablehlo.add %r, %s; %v = stablehlo.sqrt %e": 24,
    "%e = stablehlo.multiply %r, %r; %f = stablehlo.add %e, %c; %v = stablehlo.reverse %f, dims = [0, 1]": 0,
    "%e = stablehlo.add %r, %b; %v = stablehlo.reverse %e, dims = [0, 1]": 48,
    "%e = stablehlo.sqrt %r; %f = stablehlo.add %s, %e; %v = stablehlo.subtract %f, %r": 48,
}

SHARDED = '{sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}'


def program(seed: int) -> str:
    """Return a program with a chain of slices, pads and concatenations along a sharded dim."""
    choose = random.Random(seed)
    lines: list[str] = []
    size, value = 16, "%a"
    for number in range(choose.randint(2, 4)):
        kind, name = choose.choice(["slice", "pad", "rotate"]), f"%v{number}"
        before = f"tensor<{size}x3xf32>"
        if kind == "slice" and size > 2:
            start = choose.randint(0, size // 2)
            end = choose.randint(start + 1, size)
            lines.append(
                f"{name} = stablehlo.slice {value} [{start}:{end}, 0:3] {SHARDED} : ({before}) -> "
                f"tensor<{end - start}x3xf32>"
            )
            size = end - start
        elif kind == "rotate" and size > 2:
            middle = choose.randint(1, size - 1)
            one, two = f"tensor<{size - middle}x3xf32>", f"tensor<{middle}x3xf32>"
            lines += [
                f"%p{number} = stablehlo.slice {value} [{middle}:{size}, 0:3] {SHARDED} : ({before}) -> {one}",
                f"%q{number} = stablehlo.slice {value} [0:{middle}, 0:3] {SHARDED} : ({before}) -> {two}",
                f"{name} = stablehlo.concatenate %p{number}, %q{number}, dim = 0 {SHARDED} "
                f": ({one}, {two}) -> {before}",
            ]
        else:
            low, high = choose.randint(-min(2, size - 1), 6), choose.randint(0, 6)
            after = size + low + high
            lines.append(
                f"{name} = stablehlo.pad {value}, {choose.choice(['%z', '%o'])}, low = [{low}, 0], high = [{high}, 0], "
                f"interior = [0, 0] {SHARDED} : ({before}, tensor<f32>) -> tensor<{after}x3xf32>"
            )
            size = after
        value = name
    low = -size % 4  # so that the axis divides the result
    result = f"tensor<{size + low}x3xf32>"
    body = "\n  ".join(lines)
    return f"""
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16x3xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}})
    -> ({result} {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}}) {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %o = stablehlo.constant dense<1.0> : tensor<f32>
  {body}
  %r = stablehlo.pad {value}, %z, low = [{low}, 0], high = [0, 0], interior = [0, 0] {SHARDED}
    : (tensor<{size}x3xf32>, tensor<f32>) -> {result}
  return %r : {result}
}}"""


@pytest.mark.parametrize(("ops", "sent"), REVERSALS.items())
def test_values_are_reversed_after_elementwise_ops(ops: str, sent: int) -> None:
    whole = "tensor<16x3xf16>"
    argument = f'{whole} {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}]>}}'
    body = "\n  ".join(f"{op} : {whole}" for op in ops.split("; "))
    found = Program.from_text(f"""
sdy.mesh @m = <["x"=4]>
func.func @main(%a: {argument}, %b: {argument}) -> ({argument}) {{
  %c = stablehlo.constant dense<3.0> : {whole}
  %r = stablehlo.reverse %a, dims = [0, 1] : {whole}
  %s = stablehlo.reverse %b, dims = [0, 1] : {whole}
  {body}
  return %v : {whole}
}}""")
    assert_same_on_shards(found, random_inputs(found.module, seed=0))
    assert found.prove().is_proved
    assert sends_of(found.partition().local).bytes == sent


@pytest.mark.parametrize("seed", range(80))
def test_merged_ops_compute_the_same(seed: int) -> None:
    before, after, _ = before_and_after(program(seed), MergeSlicesPass(), seed)
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("seed", range(16))
def test_merged_ops_compute_the_same_on_shards(seed: int) -> None:
    found = Program.from_text(program(seed))
    assert_same_on_shards(found, random_inputs(found.module, seed))
    assert found.prove().is_proved
