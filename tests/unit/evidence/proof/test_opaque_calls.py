"""Opaque custom calls inside of a manual computation: both programs must run the same call on the same operands."""

from __future__ import annotations

from pathlib import Path

import pytest

import sdy
from sdy.evidence.runs.verification import Verdict
from sdy.ir import print_module
from sdy.tools.main import main

TEXT = """sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>]
      manual_axes={"x"} (%b: tensor<4x4xf32>) {
    %1 = stablehlo.custom_call @tpu_custom_call(%b) {kernel_name = "attend"EFFECT}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.negate %1 : tensor<4x4xf32>
    sdy.return %2 : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""


def test_the_same_call_is_proved() -> None:
    assert repr(sdy.Program.from_text(TEXT.replace("EFFECT", "")).prove()).startswith("Proof(proved")


def test_the_same_call_is_the_same_function() -> None:
    program = sdy.Program.from_text(TEXT.replace("EFFECT", ""))
    found = program.verify().verification
    assert found.verdict is Verdict.SAME
    assert found.not_reached == ("the kernel of @attend, which is taken for a function of its operands",)


def test_a_call_with_side_effects_is_not() -> None:
    text = TEXT.replace("EFFECT", ", has_side_effect = true")
    assert repr(sdy.Program.from_text(text).prove()).startswith("Proof(not proved")


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ("attend", "attend", 0),
        ('kernel_name = "attend"', 'kernel_name = "other"', 1),
        ("@tpu_custom_call(%arg0)", "@another(%arg0)", 1),
        ("stablehlo.negate", "stablehlo.abs", 1),
    ],
)
def test_another_call_in_the_local_program_is_not_proved(
    before: str, after: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TEXT.replace("EFFECT", "")
    written, local = tmp_path / "program.mlir", tmp_path / "local.mlir"
    written.write_text(text)
    partitioned = print_module(sdy.Program.from_text(text).partition().local)
    assert before in partitioned
    local.write_text(partitioned.replace(before, after))
    assert main(["prove", str(written), "--local", str(local)]) == status
    assert ("not proved" in capsys.readouterr().out) == bool(status)
