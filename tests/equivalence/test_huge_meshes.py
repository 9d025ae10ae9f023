"""Meshes of a million times a million devices, and meshes of different sizes in one program."""

from __future__ import annotations

import pytest

from sdy.diagnostics.diagnostic import SdyError
from sdy.program.program import Program

MESH = 'sdy.mesh @m = <["x"=1000000, "y"=1000000]>'
ARGUMENT = '%a: tensor<1000000xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}'


def test_program_without_communication() -> None:
    program = Program.from_text(f"""{MESH}
func.func @main({ARGUMENT}) -> tensor<1000000xf32> {{
  %r = stablehlo.abs %a : tensor<1000000xf32>
  return %r : tensor<1000000xf32>
}}""")
    assert all(outcome.agrees for outcome in program.verify())
    assert program.cost("h100").seconds_in_turn > 0
    assert program.report()
    assert program.report_html()


def test_program_with_communication() -> None:
    program = Program.from_text(f"""{MESH}
func.func @main({ARGUMENT}) -> tensor<f32> {{
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0]
    : (tensor<1000000xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}}""")
    program.propagate()
    with pytest.raises(SdyError) as caught:
        program.partition()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SDY-L019"
    assert diagnostic.span is not None
    assert diagnostic.span.line == 4


def test_meshes_with_different_numbers_of_devices() -> None:
    program = Program.from_text("""
sdy.mesh @a = <["x"=3]>
sdy.mesh @b = <["y"=4]>
func.func @main(%a: tensor<12xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>})
    -> (tensor<12xf32>, tensor<12xf32> {sdy.sharding = #sdy.sharding<@b, [{"y"}]>}) {
  %0 = stablehlo.constant dense<1.0> : tensor<12xf32>
  return %a, %0 : tensor<12xf32>, tensor<12xf32>
}""")
    with pytest.raises(SdyError) as caught:
        program.partition()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SDY-L020"
    assert "3 devices" in diagnostic.message
    assert "4" in diagnostic.message
