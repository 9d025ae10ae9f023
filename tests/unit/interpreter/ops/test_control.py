from __future__ import annotations

import numpy as np
import pytest
from support.execution.run_text import error_of, f32, i32, run, run_op

from sdy.interpreter.arrays.element_types import Array

CASE = """"stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<i32>
  }, {
    %1 = stablehlo.negate %x : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>"""


@pytest.mark.parametrize(("index", "expected"), [(0, 5), (1, -5), (2, -5), (-1, -5)])
def test_an_index_without_a_branch_takes_the_last(index: int, expected: int) -> None:
    assert run_op(CASE, "tensor<i32>", i=np.array(index, np.int32), x=np.array(5, np.int32)) == expected


def test_optimization_barriers_and_tuples_change_nothing() -> None:
    (result,) = run(
        """
        func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
          %0:2 = stablehlo.optimization_barrier %a, %a : tensor<2xi32>, tensor<2xi32>
          %1 = stablehlo.tuple %0#0, %0#1 : tuple<tensor<2xi32>, tensor<2xi32>>
          %2 = call @second(%1) : (tuple<tensor<2xi32>, tensor<2xi32>>) -> tensor<2xi32>
          return %2 : tensor<2xi32>
        }
        func.func private @second(%t: tuple<tensor<2xi32>, tensor<2xi32>>) -> tensor<2xi32> {
          %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xi32>, tensor<2xi32>>) -> tensor<2xi32>
          return %0 : tensor<2xi32>
        }""",
        i32(1, 2),
    )
    assert result.tolist() == [1, 2]


def test_composites_are_their_decomposition() -> None:
    (result,) = run(
        """
        func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
          %0 = stablehlo.composite "my.twice" %a {decomposition = @twice} : (tensor<2xi32>) -> tensor<2xi32>
          return %0 : tensor<2xi32>
        }
        func.func private @twice(%a: tensor<2xi32>) -> tensor<2xi32> {
          %0 = stablehlo.add %a, %a : tensor<2xi32>
          return %0 : tensor<2xi32>
        }""",
        i32(1, 2),
    )
    assert result.tolist() == [2, 4]


def test_custom_calls_without_a_kernel_are_errors() -> None:
    found = error_of(
        """
        func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
          %0 = stablehlo.custom_call @mystery(%a) : (tensor<2xi32>) -> tensor<2xi32>
          return %0 : tensor<2xi32>
        }""",
        i32(1, 2),
    )
    assert found.code == "SDY-X003"
    assert "@mystery" in found.message
    assert found.span is not None
    assert found.span.line == 3


MANUAL = """
    sdy.mesh @m = <["x"=2, "y"=3]>
    func.func @main(%a: tensor<4x3xf32>) -> tensor<8x3xf32> {
      %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>]
          manual_axes={"x"} (%b: tensor<2x3xf32>) {
        %1 = "stablehlo.all_gather"(%b) <{all_gather_dim = 0 : i64,
          replica_groups = dense<[[0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids
        }> : (tensor<2x3xf32>) -> tensor<4x3xf32>
        sdy.return %1 : tensor<4x3xf32>
      } : (tensor<4x3xf32>) -> tensor<8x3xf32>
      return %0 : tensor<8x3xf32>
    }"""


def test_a_manual_computation_runs_on_all_devices_of_its_mesh() -> None:
    operand: Array = np.arange(12, dtype=np.float32).reshape(4, 3)
    (result,) = run(MANUAL, operand)
    assert result.tolist() == np.concatenate([operand, operand]).tolist()


def test_a_loop_carries_its_state() -> None:
    (result,) = run(
        """
        func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
          %n = stablehlo.constant dense<3.0> : tensor<f32>
          %one = stablehlo.constant dense<1.0> : tensor<f32>
          %0:2 = stablehlo.while(%i = %one, %x = %a) : tensor<f32>, tensor<2xf32>
          cond {
            %p = stablehlo.compare LE, %i, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %p : tensor<i1>
          } do {
            %j = stablehlo.add %i, %one : tensor<f32>
            %b = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<f32>) -> tensor<2xf32>
            %y = stablehlo.multiply %x, %b : tensor<2xf32>
            stablehlo.return %j, %y : tensor<f32>, tensor<2xf32>
          }
          return %0#1 : tensor<2xf32>
        }""",
        f32(1, 2),
    )
    assert result.tolist() == [6, 12]
