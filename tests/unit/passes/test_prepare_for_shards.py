"""Remarks about gathered operands and about axes that do not divide a dim."""

from __future__ import annotations

from sdy.diagnostics.diagnostic import Severity
from sdy.program.program import Program

TRANSFORMED = """sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x4xcomplex<f32>> {
  %0 = stablehlo.convert %a : (tensor<8x4xf32>) -> tensor<8x4xcomplex<f32>>
  %1 = stablehlo.fft %0, type = FFT, length = [4] : (tensor<8x4xcomplex<f32>>) -> tensor<8x4xcomplex<f32>>
  return %1 : tensor<8x4xcomplex<f32>>
}"""
UNEVEN = """sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<7xf32> {
  %0 = stablehlo.slice %a [1:8]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<8xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}"""


def test_a_gathered_operand_is_remarked() -> None:
    (remark,) = Program.from_text(TRANSFORMED).without_optimizer().partition().remarks
    assert (remark.code, remark.severity) == ("SDY-L111", Severity.REMARK)
    assert (
        remark.message == 'stablehlo.fft: operand 0 must be unsharded along dim 1; inserting an all-gather over {"y"}'
    )
    assert remark.span is not None
    assert remark.span.line == 4


def test_axes_that_do_not_divide_are_remarked() -> None:
    codes = [remark.code for remark in Program.from_text(UNEVEN).partition().remarks]
    assert codes == ["SDY-T232", "SDY-L112", "SDY-L111"]
