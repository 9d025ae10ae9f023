"""Programs with uneven dims, partitioned by padding and halo exchange, compute the same as on one device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.execution.partition_by_passes import partitioned
from support.uneven.cases import CASES
from support.uneven.random_programs import MESHES, UnevenProgram

from sdy.evidence.runs.comparison import compare
from sdy.interpreter.arrays.element_types import Array
from sdy.program.program import Program

MESH = 'sdy.mesh @m = <["x"=6, "y"=4]>\n'
# "x" does not divide the input features of a group of the kernel, which are padded only with those of all groups.
GROUPS = f"""{MESH}
func.func @main(%a: tensor<2x6x4xi32> {{sdy.sharding = #sdy.sharding<@m, [{{}}, {{?}}, {{"x", ?}}]>}})
    -> tensor<2x6x8xi32> {{
  %kernel = stablehlo.constant dense<3> : tensor<1x2x8xi32>
  %0 = stablehlo.convolution(%a, %kernel) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{}}
      {{batch_group_count = 1 : i64, feature_group_count = 2 : i64}}
      : (tensor<2x6x4xi32>, tensor<1x2x8xi32>) -> tensor<2x6x8xi32>
  return %0 : tensor<2x6x8xi32>
}}"""
# "y" does not divide the first factor of the split dim, so that axes are distributed over all three factors.
SPLIT = f"""{MESH}
func.func @main(%a: tensor<1x12xi32> {{sdy.sharding = #sdy.sharding<@m, [{{}}, {{"y", "x"}}]>}})
    -> tensor<3x2x2x1xi32> {{
  %0 = stablehlo.reshape %a : (tensor<1x12xi32>) -> tensor<3x2x2x1xi32>
  return %0 : tensor<3x2x2x1xi32>
}}"""


def check(text: str, inputs: Sequence[Array], *, exchanges: bool) -> str:
    """Check that a program computes the same when partitioned; return the local program."""
    program = Program.from_text(text)
    by_passes = partitioned(program, program.module.clone(), exchanges=exchanges)
    pairs = zip(by_passes.run_flat(inputs), program.run_flat(inputs), strict=True)
    outcomes = [compare(index, *pair) for index, pair in enumerate(pairs)]
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == [], text
    return str(by_passes.local)


@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_uneven_dim_computes_the_same(name: str, exchanges: bool) -> None:
    program = Program.from_text(CASES[name])
    random = np.random.default_rng(5)
    inputs = [random.integers(1, 10, shape).astype(dtype) for shape, dtype in program.input_types]
    check(CASES[name], inputs, exchanges=exchanges)


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_programs_that_exchange_halos(first: int) -> None:
    programs = [UnevenProgram(seed) for seed in range(first, first + 40)]
    assert any("collective_permute" in check(each.text, each.inputs, exchanges=True) for each in programs)


@pytest.mark.parametrize("first", range(300, 420, 40))
def test_programs_without_halos(first: int) -> None:
    programs = [UnevenProgram(seed) for seed in range(first, first + 40)]
    assert any("stablehlo.pad" in check(each.text, each.inputs, exchanges=False) for each in programs)


@pytest.mark.parametrize("seed", range(500, 530))
def test_programs_in_the_partition_pipeline(seed: int) -> None:
    program = UnevenProgram(seed)
    outcomes = Program.from_text(program.text).verify(*program.inputs)
    assert [outcome.problem for outcome in outcomes if not outcome.agrees] == [], program.text


@pytest.mark.parametrize("text", [GROUPS, SPLIT], ids=["groups of features", "a split dim"])
def test_factors_of_one_dim(text: str) -> None:
    program = Program.from_text(text)
    assert all(outcome.agrees for outcome in program.verify())


def test_random_programs_cover_all_meshes() -> None:
    assert all(any(mesh in UnevenProgram(seed).text for seed in range(len(MESHES))) for mesh, _ in MESHES)
