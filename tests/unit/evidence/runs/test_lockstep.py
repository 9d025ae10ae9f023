"""The op at which two programs part, where the devices have no values but those of the program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdy.evidence.local_program import local_program
from sdy.evidence.runs.draws import Draws
from sdy.evidence.runs.exact import exact_outcome
from sdy.program.program import Program

TEXT = """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %n: tensor<4xi32>)
    -> (tensor<8x4xi32>, tensor<4xi32>, tensor<8xi1>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %small = stablehlo.constant dense<1> : tensor<8x4xi32>
  %0 = stablehlo.minimum %a, %small : tensor<8x4xi32>
  %1 = stablehlo.abs %0 : tensor<8x4xi32>
  %2:2 = stablehlo.while(%i = %zero, %s = %n) : tensor<i32>, tensor<4xi32>
  cond {
    %more = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %sum = stablehlo.negate %s : tensor<4xi32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<4xi32>
  }
  %3 = stablehlo.compare GE, %a, %small : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %4 = stablehlo.reduce(%3 init: %false) applies stablehlo.or across dimensions = [1]
      : (tensor<8x4xi1>, tensor<i1>) -> tensor<8xi1>
  return %1, %2#1, %4 : tensor<8x4xi32>, tensor<4xi32>, tensor<8xi1>
}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "blamed"),
    [
        ("stablehlo.abs", "stablehlo.optimization_barrier", "stablehlo.optimization_barrier"),
        ("compare LT", "compare LE", "stablehlo.compare"),
        ("stablehlo.or", "stablehlo.and", "stablehlo.reduce"),
    ],
)
def test_an_op_is_blamed_though_all_its_numbers_occur_in_the_program(right: str, wrong: str, blamed: str) -> None:
    lines, message = parting(right, wrong)
    assert (lines, blamed in message) == (0, True)


def test_the_next_op_is_blamed_if_its_numbers_alone_do_not_occur_in_the_program() -> None:
    lines, message = parting("stablehlo.minimum", "stablehlo.maximum")
    assert (lines, "stablehlo.abs" in message) == (1, True)


def parting(right: str, wrong: str) -> tuple[int, str]:
    """Return how many lines after a changed op the programs are said to part, and the message."""
    program = Program.from_text(TEXT).partition()
    text = str(program.local)
    assert text.count(right) == 1
    lines = [line.replace(right, wrong) for line in text.split("\n")]
    changed = next(number for number, line in enumerate(lines, 1) if line != text.split("\n")[number - 1])
    local = replace(program, local=local_program("\n".join(lines), "local.mlir", program.boundary))
    found = exact_outcome(local, Draws(local.written, 0)).parting
    assert found is not None
    assert found.span is not None
    return found.span.line - changed, found.message
