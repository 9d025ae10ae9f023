from __future__ import annotations

import numpy as np

from sdy.dialects.ir.symbols import main_function
from sdy.dialects.module_text import parse_module
from sdy.interpreter.devices.grid import grid_of
from sdy.interpreter.devices.values import stacked
from sdy.interpreter.executor import OpObserver, compile_block
from sdy.interpreter.ops.all import KERNELS
from sdy.interpreter.run import RunSettings, run_spmd

GROUPS = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]>"
PROGRAM = f"""
func.func @main(%a: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<4xi32>) {{
  %0 = stablehlo.negate %a : tensor<2xi32>
  %1 = stablehlo.multiply %0, %a : tensor<2xi32>
  %2:2 = "stablehlo.all_reduce"(%0, %1) <{{{GROUPS} : tensor<1x2xi64>}}> ({{
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }}) : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  %3 = stablehlo.subtract %2#0, %a : tensor<2xi32>
  %4:2 = "stablehlo.all_gather"(%2#1, %a) <{{all_gather_dim = 0 : i64, {GROUPS} : tensor<1x2xi64>}}>
    : (tensor<2xi32>, tensor<2xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  return %2#0, %3, %4#0, %4#1 : tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<4xi32>
}}"""

WRITTEN = [("negate", 1), ("multiply", 2), ("all_reduce", 2), ("subtract", 2), ("all_gather", 2)]


def order(*, op_by_op: bool) -> list[tuple[str, int]]:
    body = main_function(parse_module(PROGRAM)).body.block
    steps = compile_block(body, (), KERNELS, op_by_op=op_by_op).steps
    return [(step.op.name.removeprefix("stablehlo."), len(step.operands)) for step in steps]


def test_collectives_are_split_per_operand() -> None:
    assert order(op_by_op=False) == [
        ("all_gather", 1),
        ("negate", 1),
        ("all_reduce", 1),
        ("multiply", 2),
        ("all_reduce", 1),
        ("all_gather", 1),
        ("subtract", 2),
    ]
    assert order(op_by_op=True) == WRITTEN


def run(observer: OpObserver | None = None) -> list[list[int]]:
    """Return the results on the first of two devices."""
    held = stacked(np.array([[1, 2], [3, 4]], np.int32), grid_of(partition_count=1, replica_count=2))
    results = run_spmd(parse_module(PROGRAM), [held], held.grid, settings=RunSettings(observer))
    return [result.device_view(0).tolist() for result in results]


def test_observer_sees_unsplit_ops_in_program_order() -> None:
    seen: list[tuple[str, int]] = []
    run(lambda _, op, results: seen.append((op.name, len(results))))
    assert seen == [(f"stablehlo.{name}", 2 if name.startswith("all_") else 1) for name, _ in WRITTEN]


def test_split_collectives_compute_the_same() -> None:
    expected = [[-4, -6], [-5, -8], [-10, -20, -10, -20], [1, 2, 3, 4]]
    assert run() == expected
    assert run(lambda _, op, results: None) == expected
