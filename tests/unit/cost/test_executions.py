"""Execution counts of ops in loops and in functions that are called several times."""

from __future__ import annotations

from collections import Counter

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from sdy.cost.executions import execution_counts, executions
from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.dialects.stablehlo.elementwise import AddOp, SubtractOp, TanhOp

PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %s = stablehlo.constant dense<1> : tensor<i32>
  %1:2 = stablehlo.while(%i = %c, %v = %0) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %w = func.call @once(%v) : (tensor<4xf32>) -> tensor<4xf32>
    %j = stablehlo.add %i, %s : tensor<i32>
    stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
  }
  return %1#1 : tensor<4xf32>
}
func.func private @once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @once(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @once(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @never(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @once(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.subtract %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


def _times(counts: Counter[Operation], kind: type[Operation]) -> int:
    (found,) = (times for op, times in counts.items() if isinstance(op, kind))
    return found


def test_ops_are_counted_through_calls_and_loops() -> None:
    counts = execution_counts(parse_module(PROGRAM))
    assert _times(counts, AddOp) == 5
    assert _times(counts, TanhOp) == 2 + 5
    assert _times(counts, SubtractOp) == 0


def test_execution_counts_agree_with_executions() -> None:
    module: ModuleOp = parse_module(PROGRAM)
    slow: Counter[Operation] = Counter()
    for op, times in executions(module):
        slow[op] += times
    assert slow.total() > 0
    assert +execution_counts(module) == slow


def test_the_error_at_recursion_names_the_cycle() -> None:
    call = "call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>"
    recursive = PROGRAM.replace("stablehlo.tanh %x : tensor<4xf32>", call)
    with pytest.raises(SdyError, match="is recursive") as raised:
        execution_counts(parse_module(recursive))
    assert raised.value.diagnostics[0].hint == "calls: @once -> @twice -> @once"


def test_executions_of_a_recursive_function_end_with_an_error() -> None:
    module = parse_module("func.func @main() {\n  func.call @main() : () -> ()\n  return\n}")
    with pytest.raises(SdyError) as caught:
        list(executions(module))
    assert caught.value.diagnostics[0].code == "SDY-T115"
