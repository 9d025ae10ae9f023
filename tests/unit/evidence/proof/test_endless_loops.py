"""A local loop must end when that of the program does, even if it changes no value that is returned."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sdy
from sdy.dialects.module_text import parse_module, print_module
from sdy.evidence.whole_proof import prove

PROGRAM = """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %n: tensor<i32>) -> tensor<4xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %b = %a) : tensor<i32>, tensor<4xi32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xi32>
  }
  return %r#1 : tensor<4xi32>
}
"""


@pytest.mark.parametrize(
    ("old", "new", "is_proved"),
    [
        ("LT", "LT", True),
        ("LT", "GE", False),
        ("stablehlo.add", "stablehlo.subtract", False),
        ("dense<1>", "dense<0>", False),
        ("dense<0>", "dense<3>", True),  # fewer iterations, which change nothing
    ],
)
def test_a_loop_must_end_as_in_the_program(old: str, new: str, is_proved: bool) -> None:
    program = sdy.Program.from_text(PROGRAM)
    partitioned = program.partition()
    text = print_module(partitioned.local)
    assert old in text
    changed = parse_module(text.replace(old, new))
    assert prove(replace(partitioned, local=changed)).is_proved == is_proved
