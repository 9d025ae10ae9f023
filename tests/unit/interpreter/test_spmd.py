from __future__ import annotations

import numpy as np
import pytest
from support.model.notation import mesh, sharding

from sdy.diagnostics.diagnostic import SdyError
from sdy.dialects.module_text import parse_module
from sdy.interpreter.devices.grid import Grid, grid_of_mesh
from sdy.interpreter.devices.shards import shard, unshard
from sdy.interpreter.devices.values import DeviceArray
from sdy.interpreter.run import run_spmd

EIGHT = Grid((4, 2), 1, 8)
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids"


def on(grid: Grid, *values: int) -> DeviceArray:
    """Return one i32 per device, in the order of grid positions."""
    return DeviceArray(np.array(values, np.int32).reshape(grid.sizes), grid)


def held(value: DeviceArray) -> list[object]:
    return [value.device_view(device).tolist() for device in range(value.grid.position_count)]


def test_product_sharded_along_the_contracting_dim() -> None:
    mesh_of_8 = mesh('<["x"=4, "y"=2]>')
    random = np.random.default_rng(0)
    lhs, rhs = random.normal(size=(8, 6)).astype(np.float32), random.normal(size=(6, 4)).astype(np.float32)
    module = parse_module(f"""
        func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {{
          %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
            : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
          %1 = "stablehlo.all_reduce"(%0) <{{
            replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>, {CHANNEL}
          }}> ({{
          ^bb0(%x: tensor<f32>, %y: tensor<f32>):
            %s = stablehlo.add %x, %y : tensor<f32>
            stablehlo.return %s : tensor<f32>
          }}) : (tensor<2x4xf32>) -> tensor<2x4xf32>
          return %1 : tensor<2x4xf32>
        }}""")
    inputs = [shard(lhs, sharding('[{"x"}, {"y"}]'), mesh_of_8), shard(rhs, sharding('[{"y"}, {}]'), mesh_of_8)]
    (result,) = run_spmd(module, inputs, grid_of_mesh(mesh_of_8))
    assert result.array.shape == (4, 1, 2, 4)  # the same along "y", so stored once
    assert np.allclose(unshard(result, sharding('[{"x"}, {}]'), mesh_of_8, (8, 4)), lhs @ rhs, atol=1e-5)


def test_values_that_do_not_depend_on_the_device_are_computed_once() -> None:
    module = parse_module("""
        func.func @main(%a: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
          %c = stablehlo.constant dense<2> : tensor<3xi32>
          %0 = stablehlo.multiply %c, %c : tensor<3xi32>
          %1 = stablehlo.add %0, %a : tensor<3xi32>
          return %0, %1 : tensor<3xi32>, tensor<3xi32>
        }""")
    along_y = DeviceArray(np.arange(6, dtype=np.int32).reshape(1, 2, 3), EIGHT)
    once, twice = run_spmd(module, [along_y], EIGHT)
    assert once.array.shape == (1, 1, 3)
    assert twice.array.shape == (1, 2, 3)


def test_device_numbers() -> None:
    module = parse_module("""
        func.func @main() -> (tensor<ui32>, tensor<ui32>) {
          %0 = stablehlo.partition_id : tensor<ui32>
          %1 = stablehlo.replica_id : tensor<ui32>
          return %0, %1 : tensor<ui32>, tensor<ui32>
        }""")
    grid = Grid((2, 3), replica_count=2, partition_count=3)
    partition, replica = run_spmd(module, [], grid)
    assert held(partition) == [0, 1, 2, 0, 1, 2]
    assert held(replica) == [0, 0, 0, 1, 1, 1]
    turned = Grid((3,), 1, 3, (2, 0, 1))
    assert held(run_spmd(module, [], turned)[0]) == [0, 1, 2]


BRANCH = """
    func.func @main(%p: tensor<i1>, %a: tensor<i32>) -> tensor<i32> {{
      %0 = "stablehlo.if"(%p) ({{
        %1 = {in_true} : (tensor<i32>) -> tensor<i32>
        stablehlo.return %1 : tensor<i32>
      }}, {{
        stablehlo.return %a : tensor<i32>
      }}) : (tensor<i1>) -> tensor<i32>
      return %0 : tensor<i32>
    }}"""


def all_reduce(groups: str) -> str:
    return f""""stablehlo.all_reduce"(%a) <{{replica_groups = {groups}, {CHANNEL}}}> ({{
        ^bb0(%x: tensor<i32>, %y: tensor<i32>):
          %s = stablehlo.add %x, %y : tensor<i32>
          stablehlo.return %s : tensor<i32>
        }})"""


def test_devices_with_different_branches_run_in_groups() -> None:
    text = BRANCH.format(in_true='"stablehlo.negate"(%a)')
    along_x = DeviceArray(np.array([True, False, True, True]).reshape(4, 1), EIGHT)
    (result,) = run_spmd(parse_module(text), [along_x, on(EIGHT, *range(8))], EIGHT)
    assert held(result) == [0, -1, 2, 3, -4, -5, -6, -7]


def test_a_group_may_communicate_within_itself() -> None:
    text = BRANCH.format(in_true=all_reduce("dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>"))
    along_x = DeviceArray(np.array([True, False, True, False]).reshape(4, 1), EIGHT)
    (result,) = run_spmd(parse_module(text), [along_x, on(EIGHT, *range(8))], EIGHT)
    assert held(result) == [1, 1, 2, 3, 9, 9, 6, 7]


def test_collective_with_devices_outside_the_group_is_an_error() -> None:
    text = BRANCH.format(in_true=all_reduce("dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>"))
    along_x = DeviceArray(np.array([True, False, True, False]).reshape(4, 1), EIGHT)
    with pytest.raises(SdyError) as raised:
        run_spmd(parse_module(text, "branch.mlir"), [along_x, on(EIGHT, *range(8))], EIGHT)
    (found,) = raised.value.diagnostics
    assert found.code == "SDY-X010"
    assert "device 0 waits in a collective for device 2" in found.message
    assert found.span is not None
    assert found.span.line == 4


def test_devices_may_run_different_numbers_of_iterations() -> None:
    module = parse_module("""
        func.func @main(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
          %zero = stablehlo.constant dense<0> : tensor<i32>
          %one = stablehlo.constant dense<1> : tensor<i32>
          %two = stablehlo.constant dense<2> : tensor<i32>
          %0:2 = stablehlo.while(%i = %zero, %s = %one) : tensor<i32>, tensor<i32>
          cond {
            %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %p : tensor<i1>
          } do {
            %j = stablehlo.add %i, %one : tensor<i32>
            %t = stablehlo.multiply %s, %two : tensor<i32>
            stablehlo.return %j, %t : tensor<i32>, tensor<i32>
          }
          return %0#0, %0#1 : tensor<i32>, tensor<i32>
        }""")
    counts = [3, 0, 5, 3, 1, 1, 0, 2]
    loops, powers = run_spmd(module, [on(EIGHT, *counts)], EIGHT)
    assert held(loops) == counts
    assert held(powers) == [2**count for count in counts]


def test_dynamic_shape_must_be_the_same_on_all_devices() -> None:
    module = parse_module("""
        func.func @main(%n: tensor<1xi32>) -> tensor<?xi32> {
          %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
          return %0 : tensor<?xi32>
        }""")
    same = DeviceArray(np.full((4, 2, 1), 3, np.int32), EIGHT)
    assert run_spmd(module, [same], EIGHT)[0].device_view(5).tolist() == [0, 1, 2]
    with pytest.raises(SdyError) as raised:
        run_spmd(module, [DeviceArray(np.arange(8, dtype=np.int32).reshape(4, 2, 1), EIGHT)], EIGHT)
    assert raised.value.diagnostics[0].code == "SDY-X005"
    assert "[0] and [1]" in raised.value.diagnostics[0].message


def test_failed_check_names_the_device() -> None:
    module = parse_module("""
        func.func @main(%a: tensor<i32>) {
          check.expect_eq_const %a, dense<1> : tensor<i32>
          return
        }""")
    with pytest.raises(SdyError) as raised:
        run_spmd(module, [on(EIGHT, 1, 1, 1, 1, 1, 7, 1, 1)], EIGHT)
    assert "7 on device 5" in raised.value.diagnostics[0].message


def test_program_runs_on_four_thousand_devices() -> None:
    grid = Grid((64, 64), 1, 4096)
    rows = np.arange(4096).reshape(64, 64).tolist()
    module = parse_module(f"""
        func.func @main(%a: tensor<4xf32>) -> tensor<256xf32> {{
          %0 = "stablehlo.all_gather"(%a) <{{
            all_gather_dim = 0 : i64, replica_groups = dense<{rows}> : tensor<64x64xi64>, {CHANNEL}
          }}> : (tensor<4xf32>) -> tensor<256xf32>
          return %0 : tensor<256xf32>
        }}""")
    value = DeviceArray(np.arange(64 * 64 * 4, dtype=np.float32).reshape(64, 64, 4), grid)
    (result,) = run_spmd(module, [value], grid)
    assert result.array.shape == (64, 1, 256)
    assert np.shares_memory(result.array, value.array)


def test_empty_update_that_differs_between_devices() -> None:
    module = parse_module("""
func.func @main(%a: tensor<0x2xf32>, %u: tensor<0x1xf32>, %i: tensor<i32>) -> tensor<0x2xf32> {
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %i
    : (tensor<0x2xf32>, tensor<0x1xf32>, tensor<i32>, tensor<i32>) -> tensor<0x2xf32>
  return %0 : tensor<0x2xf32>
}""")
    grid = Grid((2,), 1, 2)
    shapes = ((2, 0, 2), (2, 0, 1))
    inputs = [DeviceArray(np.zeros(shape, np.float32), grid) for shape in shapes]
    (result,) = run_spmd(module, [*inputs, DeviceArray(np.array([0, 1], np.int32), grid)], grid)
    assert result.device_view(1).shape == (0, 2)
