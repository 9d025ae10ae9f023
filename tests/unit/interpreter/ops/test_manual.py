"""Manual computations: nested, on several devices, and errors."""

from __future__ import annotations

import numpy as np
from support.execution.run_text import diagnostic_of, error_of, i32, run
from support.model.notation import mesh, sharding

from sdy.dialects.module_text import parse_module
from sdy.interpreter.arrays.element_types import Array
from sdy.interpreter.devices.grid import grid_of, grid_of_mesh
from sdy.interpreter.devices.shards import shard, unshard
from sdy.interpreter.devices.values import replicated
from sdy.interpreter.run import run_spmd

MESH = '<["x"=2, "y"=3]>'
GLOBAL: Array = np.arange(24, dtype=np.int32).reshape(4, 6)


def nested(inner_in: str, inner_out: str, inner_axes: str, local: str, body: str) -> str:
    """Return a manual computation along `inner_axes` nested in one along x."""
    return f"""
    sdy.mesh @m = {MESH}
    func.func @main(%a: tensor<4x6xi32>) -> tensor<4x6xi32> {{
      %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{{"x"}}, {{}}]>] out_shardings=[<@m, [{{"x"}}, {{}}]>]
          manual_axes={{"x"}} (%b: tensor<2x6xi32>) {{
        %r = sdy.manual_computation(%b) in_shardings=[<@m, {inner_in}>] out_shardings=[<@m, {inner_out}>]
            manual_axes={inner_axes} (%c: tensor<{local}>) {{
          {body}
        }} : (tensor<2x6xi32>) -> tensor<2x6xi32>
        sdy.return %r : tensor<2x6xi32>
      }} : (tensor<4x6xi32>) -> tensor<4x6xi32>
      return %0 : tensor<4x6xi32>
    }}"""


WITH_DEVICE = """
          %i = stablehlo.partition_id : tensor<ui32>
          %j = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>
          %k = stablehlo.broadcast_in_dim %j, dims = [] : (tensor<i32>) -> tensor<2x2xi32>
          %h = stablehlo.constant dense<100> : tensor<2x2xi32>
          %t = stablehlo.multiply %k, %h : tensor<2x2xi32>
          %s = stablehlo.add %c, %t : tensor<2x2xi32>
          sdy.return %s : tensor<2x2xi32>"""


def test_nested_manual_computation_runs_per_device() -> None:
    (result,) = run(nested('[{}, {"y"}]', '[{}, {"y"}]', '{"y"}', "2x2xi32", WITH_DEVICE), GLOBAL)
    device = 100 * np.arange(6, dtype=np.int32).reshape(2, 3)
    assert result.tolist() == (GLOBAL.astype(np.int32) + device.repeat(2, 0).repeat(2, 1)).tolist()


def test_collectives_in_a_nested_manual_computation_use_its_devices() -> None:
    body = """
          %s = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>,
            channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
          ^bb0(%p: tensor<i32>, %q: tensor<i32>):
            %z = stablehlo.add %p, %q : tensor<i32>
            stablehlo.return %z : tensor<i32>
          }) : (tensor<2x2xi32>) -> tensor<2x2xi32>
          sdy.return %s : tensor<2x2xi32>"""
    (result,) = run(nested('[{}, {"y"}]', '[{}, {"y"}]', '{"y"}', "2x2xi32", body), GLOBAL)
    summed = GLOBAL.reshape(4, 3, 2).sum(1)
    assert result.tolist() == np.tile(summed, 3).tolist()


def test_result_replicated_along_the_inner_axis_is_that_of_the_first_device() -> None:
    body = """
          %i = stablehlo.partition_id : tensor<ui32>
          %j = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>
          %k = stablehlo.broadcast_in_dim %j, dims = [] : (tensor<i32>) -> tensor<2x6xi32>
          sdy.return %k : tensor<2x6xi32>"""
    (result,) = run(nested("[{}, {}]", "[{}, {}]", '{"y"}', "2x6xi32", body), GLOBAL)
    assert result.tolist() == [[0] * 6, [0] * 6, [3] * 6, [3] * 6]


def test_nested_and_flat_manual_computations_agree() -> None:
    flat = f"""
    sdy.mesh @m = {MESH}
    func.func @main(%a: tensor<4x6xi32>) -> tensor<4x6xi32> {{
      %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{{"x"}}, {{"y"}}]>] out_shardings=[<@m, [{{"x"}}, {{"y"}}]>]
          manual_axes={{"x", "y"}} (%c: tensor<2x2xi32>) {{{WITH_DEVICE}
      }} : (tensor<4x6xi32>) -> tensor<4x6xi32>
      return %0 : tensor<4x6xi32>
    }}"""
    (expected,) = run(flat, GLOBAL)
    (result,) = run(nested('[{}, {"y"}]', '[{}, {"y"}]', '{"y"}', "2x2xi32", WITH_DEVICE), GLOBAL)
    assert result.tolist() == expected.tolist()


MANUAL = """
    sdy.mesh @m = <["x"=2, "y"=3]>
    func.func @main(%a: tensor<4x5xi32>) -> tensor<4x5xi32> {
      %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {"y"}]>] out_shardings=[<@m, [{"x"}, {"y"}]>]
          manual_axes={"x", "y"} (%b: tensor<2x2xi32>) {
        %1 = stablehlo.add %b, %b : tensor<2x2xi32>
        sdy.return %1 : tensor<2x2xi32>
      } : (tensor<4x5xi32>) -> tensor<4x5xi32>
      return %0 : tensor<4x5xi32>
    }"""


def test_each_device_shards_its_own_global_tensor() -> None:
    grid = grid_of_mesh(mesh(MESH))
    own = np.arange(6 * 20, dtype=np.int32).reshape(24, 5)
    held = shard(own, sharding('[{"x", "y"}, {}]'), mesh(MESH))
    (result,) = run_spmd(parse_module(MANUAL), [held], grid)
    by_device = own.reshape(6, 4, 5)
    expected = np.zeros((4, 5), np.int32)
    for device in range(6):
        x, y = divmod(device, 3)
        rows, columns = slice(2 * x, 2 * x + 2), slice(2 * y, 2 * y + 2)
        expected[rows, columns] = 2 * by_device[device, rows, columns]
    assert [result.device_view(device).tolist() for device in range(6)] == [expected.tolist()] * 6


def test_replicated_tensor_is_sharded_as_on_one_device() -> None:
    operand: Array = np.arange(20, dtype=np.int32).reshape(4, 5)
    grid = grid_of_mesh(mesh(MESH))
    (result,) = run_spmd(parse_module(MANUAL), [replicated(operand, grid)], grid)
    assert result.array.shape == (1, 1, 4, 5)
    assert unshard(result, sharding("[{}, {}]"), mesh(MESH), (4, 5)).tolist() == run(MANUAL, operand)[0].tolist()


def test_devices_must_be_those_of_the_mesh() -> None:
    grid = grid_of(4)
    found = diagnostic_of(lambda: run_spmd(parse_module(MANUAL), [replicated(np.zeros((4, 5), np.int32), grid)], grid))
    assert found.code == "SDY-X016"
    assert "the 6 devices of its mesh, but 4 devices" in found.message
    assert found.span is not None
    assert found.span.line == 4


def test_manual_computation_in_a_divergent_branch_is_an_error() -> None:
    found = error_of(
        """
        sdy.mesh @m = <["x"=2, "y"=2]>
        func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
          %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{"x"}]>]
              manual_axes={"x"} (%b: tensor<2xi32>) {
            %i = stablehlo.partition_id : tensor<ui32>
            %j = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>
            %r = "stablehlo.case"(%j) ({
              %n = sdy.manual_computation(%b) in_shardings=[<@m, [{"y"}]>] out_shardings=[<@m, [{"y"}]>]
                  manual_axes={"y"} (%c: tensor<1xi32>) {
                sdy.return %c : tensor<1xi32>
              } : (tensor<2xi32>) -> tensor<2xi32>
              stablehlo.return %n : tensor<2xi32>
            }, {
              stablehlo.return %b : tensor<2xi32>
            }) : (tensor<i32>) -> tensor<2xi32>
            sdy.return %r : tensor<2xi32>
          } : (tensor<4xi32>) -> tensor<4xi32>
          return %0 : tensor<4xi32>
        }""",
        i32(1, 2, 3, 4),
    )
    assert found.code == "SDY-X016"
    assert "4 devices of its mesh, but 1 devices" in found.message


def test_body_without_manual_axes_is_inlined() -> None:
    (result,) = run(
        """
        func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
          %0 = sdy.manual_computation(%a) in_shardings=[<mesh<[]>, [{}]>] out_shardings=[<mesh<[]>, [{}]>]
              manual_axes={} (%b: tensor<2xi32>) {
            %1 = stablehlo.add %b, %b : tensor<2xi32>
            sdy.return %1 : tensor<2xi32>
          } : (tensor<2xi32>) -> tensor<2xi32>
          return %0 : tensor<2xi32>
        }""",
        i32(1, 2),
    )
    assert result.tolist() == [2, 4]
