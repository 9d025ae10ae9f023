"""Loops, branches, lookups in sharded tables and halos: our partition of them is proved, and with a fault it is not."""

from __future__ import annotations

import pytest
from support.execution.proved_faults import check_proof_and_faults

LOOP = """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %a) : tensor<i32>, tensor<8x4xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%v init: %z) applies stablehlo.add across dimensions = [0]
        : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    %t = stablehlo.tanh %s : tensor<4xf32>
    %b = stablehlo.broadcast_in_dim %t, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    %w = stablehlo.subtract %v, %b : tensor<8x4xf32>
    stablehlo.return %next, %w : tensor<i32>, tensor<8x4xf32>
  }
  return %0#1 : tensor<8x4xf32>
}
"""
LENGTH = "    %n = stablehlo.constant dense<3> : tensor<i32>\n"


def multiplied_in_a_loop(value: str, shape: str) -> str:
    """Return the end of a program that multiplies a value by %a fifty times and returns it."""
    return f"""  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%n = %zero, %v = {value}) : tensor<i32>, tensor<{shape}xi32>
  cond {{
    %end = stablehlo.constant dense<50> : tensor<i32>
    %c = stablehlo.compare LT, %n, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %n, %one : tensor<i32>
    %w = stablehlo.multiply %v, %a : tensor<{shape}xi32>
    stablehlo.return %next, %w : tensor<i32>, tensor<{shape}xi32>
  }}
  return %r#1 : tensor<{shape}xi32>
}}
"""


PROGRAMS = {
    "loop": LOOP,
    "loop of any length": LOOP.replace(LENGTH, "").replace("@main(", "@main(%n: tensor<i32>, "),
    "a diagonal of a matrix that is sharded along both dims": """
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<264x264xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> tensor<256xf32> {
  %rows = stablehlo.iota dim = 0 : tensor<256x1xi32>
  %eight = stablehlo.constant dense<8> : tensor<256x1xi32>
  %columns = stablehlo.add %rows, %eight : tensor<256x1xi32>
  %at = stablehlo.concatenate %rows, %columns, dim = 1 : (tensor<256x1xi32>, tensor<256x1xi32>) -> tensor<256x2xi32>
  %0 = "stablehlo.gather"(%a, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1],
    start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}>
    : (tensor<264x264xf32>, tensor<256x2xi32>) -> tensor<256xf32>
  return %0 : tensor<256xf32>
}
""",
    "the main diagonal, and another one along it": """
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<256x256xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}, %b: tensor<256xf32>)
    -> (tensor<256xf32>, tensor<256x256xf32>) {
  %rows = stablehlo.iota dim = 0 : tensor<256x1xi32>
  %at = stablehlo.concatenate %rows, %rows, dim = 1 : (tensor<256x1xi32>, tensor<256x1xi32>) -> tensor<256x2xi32>
  %0 = "stablehlo.gather"(%a, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1],
    start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}>
    : (tensor<256x256xf32>, tensor<256x2xi32>) -> tensor<256xf32>
  %1 = "stablehlo.scatter"(%a, %at, %b) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<256x256xf32>, tensor<256x2xi32>, tensor<256xf32>) -> tensor<256x256xf32>
  return %0, %1 : tensor<256xf32>, tensor<256x256xf32>
}
""",
    "a loop that begins with one of several columns": LOOP.replace("%a: tensor<8x4xf32>", "%columns: tensor<8x5x4xf32>")
    .replace('[{"x"}, {"y"}]>})', '[{"x"}, {}, {"y"}]>})')
    .replace(
        "  %zero =",
        """  %column = stablehlo.slice %columns [0:8, 0:1, 0:4] : (tensor<8x5x4xf32>) -> tensor<8x1x4xf32>
  %a = stablehlo.reshape %column : (tensor<8x1x4xf32>) -> tensor<8x4xf32>
  %zero =""",
    )
    .replace("dense<3>", "dense<30>"),
    "a shard of an iota that is also a part of a longer one": """
sdy.mesh @m = <["x"=4]>
func.func @main(%ids: tensor<16xi32>,
    %rows: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> (tensor<16xi1>, tensor<16x4xf32>) {
  %long = stablehlo.iota dim = 0 : tensor<16xi32>
  %0 = stablehlo.compare EQ, %ids, %long : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
  %1 = stablehlo.iota dim = 1 : tensor<16x8xi32>
  %2 = stablehlo.broadcast_in_dim %ids, dims = [0] : (tensor<16xi32>) -> tensor<16x8xi32>
  %3 = stablehlo.compare EQ, %2, %1 : (tensor<16x8xi32>, tensor<16x8xi32>) -> tensor<16x8xi1>
  %4 = stablehlo.convert %3 : (tensor<16x8xi1>) -> tensor<16x8xf32>
  %5 = stablehlo.dot_general %4, %rows, contracting_dims = [1] x [0]
      : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %0, %5 : tensor<16xi1>, tensor<16x4xf32>
}
""",
    "places in a table of which each shard has one column": """
sdy.mesh @m = <["x"=2, "y"=3]>
func.func @main(%a: tensor<3x6xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x", "y"}]>}) -> tensor<3x6xi32> {
  %six = stablehlo.constant dense<6> : tensor<3x6xi32>
  %row = stablehlo.iota dim = 0 : tensor<3x6xi32>
  %column = stablehlo.iota dim = 1 : tensor<3x6xi32>
  %0 = stablehlo.multiply %six, %row : tensor<3x6xi32>
  %1 = stablehlo.add %0, %column : tensor<3x6xi32>
"""
    + multiplied_in_a_loop("%1", "3x6"),
    "the same with two dims before": """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<2x3x4xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {"x", "y"}]>}) -> tensor<2x3x4xi32> {
  %twelve = stablehlo.constant dense<12> : tensor<2x3x4xi32>
  %four = stablehlo.constant dense<4> : tensor<2x3x4xi32>
  %i = stablehlo.iota dim = 0 : tensor<2x3x4xi32>
  %j = stablehlo.iota dim = 1 : tensor<2x3x4xi32>
  %k = stablehlo.iota dim = 2 : tensor<2x3x4xi32>
  %0 = stablehlo.multiply %twelve, %i : tensor<2x3x4xi32>
  %1 = stablehlo.multiply %four, %j : tensor<2x3x4xi32>
  %2 = stablehlo.add %0, %1 : tensor<2x3x4xi32>
  %3 = stablehlo.add %2, %k : tensor<2x3x4xi32>
"""
    + multiplied_in_a_loop("%3", "2x3x4"),
    "a loop that writes one row of a sharded value after the other": """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32>, %n: tensor<i32>)
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %0:2 = stablehlo.while(%i = %zero, %v = %z) : tensor<i32>, tensor<8x4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %r = stablehlo.dynamic_slice %a, %i, %zero, sizes = [1, 4]
        : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %t = stablehlo.tanh %r : tensor<1x4xf32>
    %w = stablehlo.dynamic_update_slice %v, %t, %i, %zero
        : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    stablehlo.return %next, %w : tensor<i32>, tensor<8x4xf32>
  }
  return %0#1 : tensor<8x4xf32>
}
""",
    "sums of ones and of other constants, over shards": """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<4xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<8x4xf32>
  %s = sdy.sharding_constraint %one <@m, [{"x"}, {}]> : tensor<8x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.divide %1, %0 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
""",
    "sums of rows in a loop of any length": """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%n: tensor<i32>, %a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %0:2 = stablehlo.while(%i = %zero, %v = %z) : tensor<i32>, tensor<8x4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.tanh %a : tensor<8x4xf32>
    %w = stablehlo.add %v, %t : tensor<8x4xf32>
    stablehlo.return %next, %w : tensor<i32>, tensor<8x4xf32>
  }
  return %0#1 : tensor<8x4xf32>
}
""",
    "branch": """
sdy.mesh @m = <["x"=4]>
func.func @main(%p: tensor<i1>, %a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.negate %a : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0]
        : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8xf32>
    stablehlo.return %b : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
""",
    "lookup": """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%t: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
    %i: tensor<6x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}) -> tensor<6x4xf32> {
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
      : (tensor<8x4xf32>, tensor<6x1xi32>) -> tensor<6x4xf32>
  %1 = stablehlo.tanh %0 : tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}
""",
    "neighbours": """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<15x2xf32> {
  %0 = stablehlo.slice %a [1:16, 0:2] : (tensor<16x2xf32>) -> tensor<15x2xf32>
  %1 = stablehlo.slice %a [0:15, 0:2] : (tensor<16x2xf32>) -> tensor<15x2xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<15x2xf32>
  return %2 : tensor<15x2xf32>
}
""",
    "numbers": """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<10xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<f32> {
  %0 = stablehlo.iota dim = 0 : tensor<10xi32>
  %1 = stablehlo.convert %0 : (tensor<10xi32>) -> tensor<10xf32>
  %2 = stablehlo.multiply %1, %a : tensor<10xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
""",
    "manual": """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{"x"}, {}]>]
      manual_axes={"x", "y"} (%b: tensor<4x4xf32>) {
    %1 = "stablehlo.all_gather"(%b) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1,
        type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}>
        : (tensor<4x4xf32>) -> tensor<8x4xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0]
        : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.add %2, %b : tensor<4x4xf32>
    sdy.return %3 : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
""",
    "groups along axes in a manual computation": """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"y", "x"}, {}]>] out_shardings=[<@m, [{"y", "x"}, {}]>]
      manual_axes={"x", "y"} (%b: tensor<2x4xf32>) {
    %1 = "stablehlo.all_gather"(%b) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1,
        type = 1>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m,
        axes = [#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">]>, use_global_device_ids}>
        : (tensor<2x4xf32>) -> tensor<8x4xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0]
        : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %3 = "stablehlo.all_reduce"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>,
        replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "x">]>,
        use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %t = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = stablehlo.add %2, %3 : tensor<2x4xf32>
    sdy.return %4 : tensor<2x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
""",
    "rows of shards in a manual computation": """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>}) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x"}
      (%b: tensor<4xf32>) {
    %1 = "stablehlo.sort"(%b) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %t = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
""",
    "updates in a loop in a manual computation": """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xi32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>}) -> tensor<8xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x"}
      (%b: tensor<4xi32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.while(%i = %zero, %v = %b) : tensor<i32>, tensor<4xi32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %r = stablehlo.reverse %v, dims = [0] : tensor<4xi32>
      %s = stablehlo.slice %r [1:3] : (tensor<4xi32>) -> tensor<2xi32>
      %w = stablehlo.dynamic_update_slice %v, %s, %i : (tensor<4xi32>, tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
      stablehlo.return %next, %w : tensor<i32>, tensor<4xi32>
    }
    sdy.return %1#1 : tensor<4xi32>
  } : (tensor<8xi32>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
""",
    "branches with shards of uneven dims": """
sdy.mesh @m = <["x"=2]>
func.func @main(%p: tensor<i32>, %a: tensor<16xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
    %b: tensor<5xi32>) -> tensor<5xi32> {
  %0 = stablehlo.slice %a [1:6] : (tensor<16xi32>) -> tensor<5xi32>
  %1 = "stablehlo.case"(%p) ({
    %2 = stablehlo.negate %0 : tensor<5xi32>
    stablehlo.return %2 : tensor<5xi32>
  }, {
    stablehlo.return %b : tensor<5xi32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : (tensor<i32>) -> tensor<5xi32>
  return %1 : tensor<5xi32>
}
""",
    "products of shards and a part of an iota": """
sdy.mesh @m = <["x"=3, "y"=2]>
func.func @main(%a: tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}) -> tensor<4x4x3xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{}, {}, {"x"}]>]
      manual_axes={"x"} (%b: tensor<4x4xf32>) {
    %1 = stablehlo.iota dim = 0 : tensor<4xf32>
    %2 = stablehlo.dot_general %b, %1, batching_dims = [0] x [0], contracting_dims = [] x []
        : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.reshape %2 : (tensor<4x4xf32>) -> tensor<4x4x1xf32>
    sdy.return %3 : tensor<4x4x1xf32>
  } : (tensor<12x4xf32>) -> tensor<4x4x3xf32>
  return %0 : tensor<4x4x3xf32>
}
""",
    "parts of blocks": """
sdy.mesh @m = <["x"=3, "y"=2]>
func.func @main(%a: tensor<6x2xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<4x3xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{}, {"y"}]>] out_shardings=[<@m, [{"y"}, {}]>]
      manual_axes={"y"} (%b: tensor<6x1xi32>) {
    %1 = stablehlo.negate %b : tensor<6x1xi32>
    sdy.return %1 : tensor<6x1xi32>
  } : (tensor<6x2xi32>) -> tensor<12x1xi32>
  %2 = sdy.manual_computation(%0) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{}, {"x"}]>]
      manual_axes={"x"} (%b: tensor<4x1xi32>) {
    %3 = stablehlo.negate %b : tensor<4x1xi32>
    sdy.return %3 : tensor<4x1xi32>
  } : (tensor<12x1xi32>) -> tensor<4x3xi32>
  return %2 : tensor<4x3xi32>
}
""",
    "updates that are added to a constant": """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%i: tensor<8x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
    %u: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<3xf32> {
  %c = stablehlo.constant dense<0.5> : tensor<3xf32>
  %0 = "stablehlo.scatter"(%c, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
""",
    "the largest update of each segment": """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%i: tensor<2048x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
    %u: tensor<2048xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %c: tensor<512xf32>) -> tensor<512xf32> {
  %0 = "stablehlo.scatter"(%c, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<512xf32>, tensor<2048x1xi32>, tensor<2048xf32>) -> tensor<512xf32>
  return %0 : tensor<512xf32>
}
""",
    "constants in a manual computation": """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<4xf32>, tensor<4xi32>) {
  %half = stablehlo.constant dense<0.5> : tensor<4xf32>
  %numbers = stablehlo.iota dim = 0 : tensor<4xi32>
  %0, %1 = sdy.manual_computation(%half, %numbers) in_shardings=[<@m, [{}]>, <@m, [{"y"}]>]
      out_shardings=[<@m, [{}]>, <@m, [{"y"}]>] manual_axes={"y"} (%b: tensor<4xf32>, %c: tensor<2xi32>) {
    %2 = stablehlo.constant dense<-1.0> : tensor<4xf32>
    %3 = stablehlo.add %b, %2 : tensor<4xf32>
    %4 = stablehlo.add %c, %c : tensor<2xi32>
    sdy.return %3, %4 : tensor<4xf32>, tensor<2xi32>
  } : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  %5 = stablehlo.multiply %a, %0 : tensor<4xf32>
  return %5, %1 : tensor<4xf32>, tensor<4xi32>
}
""",
    "a result of blocks that are not one range": """
sdy.mesh @m = <["x"=3, "y"=2]>
func.func @main(%a: tensor<8x3xi32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}) -> tensor<18xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{}, {"x"}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x"}
      (%b: tensor<8x1xi32>) {
    %1 = stablehlo.slice %b [1:7, 0:1] : (tensor<8x1xi32>) -> tensor<6x1xi32>
    %2 = stablehlo.reshape %1 : (tensor<6x1xi32>) -> tensor<6xi32>
    sdy.return %2 : tensor<6xi32>
  } : (tensor<8x3xi32>) -> tensor<18xi32>
  return %0 : tensor<18xi32>
}
""",
    "values without elements": """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<0x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}, %b: tensor<4x4xf32>)
    -> (tensor<0x4xf32>, tensor<4x4xf32>) {
  %0 = stablehlo.add %a, %a : tensor<0x4xf32>
  %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0]
      : (tensor<0x4xf32>, tensor<4x4xf32>) -> tensor<0x4xf32>
  %2 = stablehlo.dot_general %b, %b, contracting_dims = [1] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %2 : tensor<0x4xf32>, tensor<4x4xf32>
}
""",
    "an all-gather of blocks in reverse order": """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<8xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{}]>] manual_axes={"x"}
      (%b: tensor<2xi32>) {
    %1 = "stablehlo.all_gather"(%b) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1,
        type = 1>, replica_groups = dense<[[3, 2, 1, 0]]> : tensor<1x4xi64>, use_global_device_ids}>
        : (tensor<2xi32>) -> tensor<8xi32>
    %2 = stablehlo.negate %1 : tensor<8xi32>
    sdy.return %2 : tensor<8xi32>
  } : (tensor<8xi32>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
""",
    "products, any and all along sharded dims": """
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>},
    %b: tensor<8x4xi1> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<4xf32>, tensor<8xi1>, tensor<i1>, tensor<4xi1>) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %yes = stablehlo.constant dense<true> : tensor<i1>
  %no = stablehlo.constant dense<false> : tensor<i1>
  %0 = stablehlo.reduce(%a init: %one) applies stablehlo.multiply across dimensions = [0]
      : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%b init: %no) applies stablehlo.or across dimensions = [1]
      : (tensor<8x4xi1>, tensor<i1>) -> tensor<8xi1>
  %2 = stablehlo.reduce(%b init: %yes) applies stablehlo.and across dimensions = [0, 1]
      : (tensor<8x4xi1>, tensor<i1>) -> tensor<i1>
  %3 = stablehlo.reduce(%b init: %no) applies stablehlo.maximum across dimensions = [0]
      : (tensor<8x4xi1>, tensor<i1>) -> tensor<4xi1>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<8xi1>, tensor<i1>, tensor<4xi1>
}
""",
    "cumulative products": """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %one) <{window_dimensions = array<i64: 8, 1>,
      padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.multiply %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
""",
    "a sum of one element per device": """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.tanh %a : tensor<2x4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
""",
    "bits": """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8x4xui32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x4x4xui8>, tensor<8xui64>) {
  %0 = stablehlo.bitcast_convert %a : (tensor<8x4xui32>) -> tensor<8x4x4xui8>
  %1 = stablehlo.slice %a [0:8, 0:2] : (tensor<8x4xui32>) -> tensor<8x2xui32>
  %2 = stablehlo.bitcast_convert %1 : (tensor<8x2xui32>) -> tensor<8xui64>
  return %0, %2 : tensor<8x4x4xui8>, tensor<8xui64>
}
""",
    "slices of slices": """
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<8x6x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {"x"}]>}) -> tensor<2x4xf32> {
  %0 = stablehlo.slice %a [1:7:3, 1:6:2, 0:4] : (tensor<8x6x4xf32>) -> tensor<2x3x4xf32>
  %1 = stablehlo.slice %0 [1:2, 0:3, 0:4] : (tensor<2x3x4xf32>) -> tensor<1x3x4xf32>
  %2 = stablehlo.reshape %1 : (tensor<1x3x4xf32>) -> tensor<3x4xf32>
  %3 = stablehlo.slice %2 [0:3:2, 0:4] : (tensor<3x4xf32>) -> tensor<2x4xf32>
  %4 = stablehlo.tanh %3 : tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}
""",
    "a lookup of slices of one element in sharded rows": """
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %i: tensor<5x1xui32>)
    -> tensor<5x1x3xf32> {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0],
      index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<8x3xf32>, tensor<5x1xui32>) -> tensor<5x1x3xf32>
  return %0 : tensor<5x1x3xf32>
}
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_partitioned_program_is_proved_and_its_faults_are_not(name: str) -> None:
    check_proof_and_faults(PROGRAMS[name], faults=6, seeds=1)
