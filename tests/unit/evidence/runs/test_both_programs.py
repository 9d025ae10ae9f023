"""Runs of a program and its local program: a fault may make a loop endless, which ends all the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sdy
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.evidence.runs.both_programs import BothPrograms

LOOP = """
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%k = %i, %y = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %last = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %k, LAST : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %next = stablehlo.add %k, %one : tensor<i32>
      %z = stablehlo.add %y, %x : tensor<4xf32>
      stablehlo.return %next, %z : tensor<i32>, tensor<4xf32>
    }
  return %r#1 : tensor<4xf32>
}"""


def test_a_loop_that_runs_far_more_often_than_that_of_the_program_ends() -> None:
    program = sdy.Program.from_text(LOOP.replace("LAST", "%last")).partition()
    wrong = parse_module(LOOP.replace("LAST", "%n"), "local.mlir")
    runs = BothPrograms(replace(program, local=wrong))
    x = np.ones(4, np.float32)
    assert runs.on_one_device((x, np.array(3, np.int32)))[0].tolist() == [4.0] * 4
    assert runs.on_devices((x, np.array(3, np.int32)))[0].array.tolist() == [4.0] * 4
    with pytest.raises(SdyError, match="run more than 1012 iterations"):
        runs.on_devices((x, np.array(2**31 - 1, np.int32)))
