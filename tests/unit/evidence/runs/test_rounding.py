"""Programs that only round differently, and programs that compute something else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sdy
from sdy.dialects.module_text import parse_module
from sdy.evidence.runs.argument_uses import positive_arguments
from sdy.evidence.runs.arrays import random_inputs
from sdy.evidence.runs.verification import compare_runs
from sdy.interpreter.arrays.element_types import Array
from sdy.tools.main import main

# The sign of a sum that is zero up to rounding: devices add its parts in another order.
SIGN_OF_ZERO_SUM = """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<32xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.constant dense<32.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
  %mean = stablehlo.divide %0, %count : tensor<f32>
  %means = stablehlo.broadcast_in_dim %mean, dims = [] : (tensor<f32>) -> tensor<32xf32>
  %1 = stablehlo.subtract %a, %means : tensor<32xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.sign %2 : tensor<f32>
  return %3 : tensor<f32>
}
"""
# Columns without their means have a sum of zero, up to the rounding of 4,096 additions one after the other.
SUMS_OF_CENTERED_COLUMNS = """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<4096x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %share = stablehlo.constant dense<2.44140625e-4> : tensor<64xf32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4096x64xf32>, tensor<f32>) -> tensor<64xf32>
  %mean = stablehlo.multiply %0, %share : tensor<64xf32>
  %means = stablehlo.broadcast_in_dim %mean, dims = [1] : (tensor<64xf32>) -> tensor<4096x64xf32>
  %1 = stablehlo.subtract %a, %means : tensor<4096x64xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4096x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
"""
SUM = """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<32xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
"""


def inputs(seed: int) -> list[Array]:
    return [np.random.default_rng(seed).standard_normal(32).astype(np.float32)]


def disagreeing_seed(program: sdy.Program[list[Array]]) -> int:
    return next(seed for seed in range(100) if not program.verify(*inputs(seed), exact=False)[0].agrees)


def test_the_sign_of_a_sum_of_zero_is_rounding() -> None:
    program = sdy.Program.from_text(SIGN_OF_ZERO_SUM)
    (found,) = program.verify(*inputs(disagreeing_seed(program)))
    assert (found.agrees, found.problem) == (True, "")
    assert found.amplification is not None
    assert found.amplification > 1e6


@pytest.mark.parametrize("mean", [0, 1])
def test_a_sum_of_many_terms_rounds_in_each_addition(mean: int) -> None:
    program = sdy.Program.from_text(SUMS_OF_CENTERED_COLUMNS)
    columns = np.random.default_rng(1).standard_normal((4096, 64)) + mean
    (found,) = program.verify(columns.astype(np.float32))
    assert (found.agrees, found.problem) == (True, "")
    assert found.amplification is not None


def test_a_small_error_that_only_the_exact_comparison_finds() -> None:
    program = sdy.Program.from_text(SUM)
    partitioned = program.partition()
    wrong = parse_module(str(partitioned).replace("dense<0.000000e+00>", "dense<1.0e-6>"))
    faulty = replace(partitioned, local=wrong)
    for exact, agrees in ((None, True), (True, False)):
        (found,) = compare_runs(faulty, inputs(0), exact=exact)
        assert found.agrees is agrees
    assert found.problem.startswith("in 64-bit floats ")


def test_expected_results_may_round_differently_too() -> None:
    program = sdy.Program.from_text(SIGN_OF_ZERO_SUM)
    arrays = inputs(0)
    other_sign = [np.negative(each) for each in program.run(*arrays)]
    assert program.verify(*arrays, expected=other_sign)[0].agrees
    assert not program.verify(*arrays, expected=[np.float32(5)])[0].agrees


def test_the_command_tells_rounding_from_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = sdy.Program.from_text(SIGN_OF_ZERO_SUM)
    (tmp_path / "sign.mlir").write_text(SIGN_OF_ZERO_SUM)
    np.savez(tmp_path / "x.npz", arg0=inputs(disagreeing_seed(program))[0])
    assert main(["verify", str(tmp_path / "sign.mlir"), "--inputs", str(tmp_path / "x.npz")]) == 0
    assert "only up to rounding, which the program amplifies" in capsys.readouterr().out.replace("\n", " ")


def test_undefined_results_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = stablehlo.subtract %a, %a : tensor<4xf32>\n"
    text += "  %1 = stablehlo.divide %0, %0 : tensor<4xf32>\n  return %1 : tensor<4xf32>\n}"
    (tmp_path / "nan.mlir").write_text(text)
    assert main(["verify", str(tmp_path / "nan.mlir")]) == 0
    assert "4 elements of 1 outputs are NaN or infinite" in capsys.readouterr().out


ADAM = """
func.func @main(%g: tensor<4xf32>, %v: tensor<4xf32>, %t: tensor<i32>) -> (tensor<4xf32>, tensor<f32>) {
  %b = stablehlo.constant dense<0.9> : tensor<f32>
  %0 = stablehlo.multiply %g, %g : tensor<4xf32>
  %1 = stablehlo.add %0, %v : tensor<4xf32>
  %2 = stablehlo.sqrt %1 : tensor<4xf32>
  %3 = stablehlo.convert %t : (tensor<i32>) -> tensor<f32>
  %4 = stablehlo.power %b, %3 : tensor<f32>
  return %2, %4 : tensor<4xf32>, tensor<f32>
}
"""


def test_random_second_moments_and_counts_are_positive() -> None:
    program = sdy.Program.from_text(ADAM)
    assert positive_arguments(program.module) == [False, True, True]
    arrays = [random_inputs(program.module, seed) for seed in range(20)]
    assert not any(np.signbit(second).any() or int(count) < 1 for _, second, count in arrays)
    assert any(np.signbit(gradient).any() for gradient, _, _ in arrays)


def test_inputs_by_name() -> None:
    program = sdy.Program.from_text(ADAM)
    assert all(each.undefined == 0 for each in program.verify())
    assert program.verify(inputs={"%v": np.full(4, np.nan, np.float32)})[0].undefined == 4
    with pytest.raises(sdy.SdyError, match="no argument of the program is called %w"):
        program.verify(inputs={"%w": np.zeros(4, np.float32)})
