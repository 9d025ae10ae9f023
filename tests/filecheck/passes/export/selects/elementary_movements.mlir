// Elementary movements along a dim of 16 rows on 4 devices become what one writes by hand on a shard of 4 rows.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

sdy.mesh @m = <["x"=4]>
// `jnp.roll(a, 1, 0)`.
func.func @roll_by_one(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [15:16, 0:3] : (tensor<16x3xf32>) -> tensor<1x3xf32>
  %1 = stablehlo.slice %a [0:15, 0:3] : (tensor<16x3xf32>) -> tensor<15x3xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x3xf32>, tensor<15x3xf32>) -> tensor<16x3xf32>
  return %2 : tensor<16x3xf32>
}
// CHECK-LABEL: func.func @roll_by_one(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.slice %arg0 [3:4, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V1:.*]] = "stablehlo.collective_permute"(%[[V0]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}0, 1], [1, 2], [2, 3], [3, 0{{\]\]}}> : tensor<4x2xi64>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.slice %arg0 [0:3, 0:3] : (tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %[[V3:.*]] = stablehlo.concatenate %[[V1]], %[[V2]], dim = 0 : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return %[[V3]] : tensor<4x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// `jnp.roll(a, -1, 0)`.
func.func @roll_back(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [1:16, 0:3] : (tensor<16x3xf32>) -> tensor<15x3xf32>
  %1 = stablehlo.slice %a [0:1, 0:3] : (tensor<16x3xf32>) -> tensor<1x3xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<15x3xf32>, tensor<1x3xf32>) -> tensor<16x3xf32>
  return %2 : tensor<16x3xf32>
}
// CHECK-LABEL: func.func @roll_back(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.slice %arg0 [0:1, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V1:.*]] = "stablehlo.collective_permute"(%[[V0]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}0, 3], [1, 0], [2, 1], [3, 2{{\]\]}}> : tensor<4x2xi64>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.slice %arg0 [1:4, 0:3] : (tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %[[V3:.*]] = stablehlo.concatenate %[[V2]], %[[V1]], dim = 0 : (tensor<3x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return %[[V3]] : tensor<4x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// Three rows are sent.
func.func @roll_by_three(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [13:16, 0:3] : (tensor<16x3xf32>) -> tensor<3x3xf32>
  %1 = stablehlo.slice %a [0:13, 0:3] : (tensor<16x3xf32>) -> tensor<13x3xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3x3xf32>, tensor<13x3xf32>) -> tensor<16x3xf32>
  return %2 : tensor<16x3xf32>
}
// CHECK-LABEL: func.func @roll_by_three(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.slice %arg0 [1:4, 0:3] : (tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %[[V1:.*]] = "stablehlo.collective_permute"(%[[V0]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}0, 1], [1, 2], [2, 3], [3, 0{{\]\]}}> : tensor<4x2xi64>}> : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.slice %arg0 [0:1, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V3:.*]] = stablehlo.concatenate %[[V1]], %[[V2]], dim = 0 : (tensor<3x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return %[[V3]] : tensor<4x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// Shards are sent as they are.
func.func @roll_by_a_shard(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [12:16, 0:3] : (tensor<16x3xf32>) -> tensor<4x3xf32>
  %1 = stablehlo.slice %a [0:12, 0:3] : (tensor<16x3xf32>) -> tensor<12x3xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<4x3xf32>, tensor<12x3xf32>) -> tensor<16x3xf32>
  return %2 : tensor<16x3xf32>
}
// CHECK-LABEL: func.func @roll_by_a_shard(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}0, 1], [1, 2], [2, 3], [3, 0{{\]\]}}> : tensor<4x2xi64>}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return %[[V0]] : tensor<4x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// Rows of two shards make a shard.
func.func @roll_by_five(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [11:16, 0:3] : (tensor<16x3xf32>) -> tensor<5x3xf32>
  %1 = stablehlo.slice %a [0:11, 0:3] : (tensor<16x3xf32>) -> tensor<11x3xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<5x3xf32>, tensor<11x3xf32>) -> tensor<16x3xf32>
  return %2 : tensor<16x3xf32>
}
// CHECK-LABEL: func.func @roll_by_five(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.slice %arg0 [3:4, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V1:.*]] = "stablehlo.collective_permute"(%[[V0]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}0, 2], [1, 3], [2, 0], [3, 1{{\]\]}}> : tensor<4x2xi64>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.slice %arg0 [0:3, 0:3] : (tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %[[V3:.*]] = "stablehlo.collective_permute"(%[[V2]]) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<{{\[\[}}0, 1], [1, 2], [2, 3], [3, 0{{\]\]}}> : tensor<4x2xi64>}> : (tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %[[V4:.*]] = stablehlo.concatenate %[[V1]], %[[V3]], dim = 0 : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return %[[V4]] : tensor<4x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// Both halves change places.
func.func @halves(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [8:16, 0:3] : (tensor<16x3xf32>) -> tensor<8x3xf32>
  %1 = stablehlo.slice %a [0:8, 0:3] : (tensor<16x3xf32>) -> tensor<8x3xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<16x3xf32>
  return %2 : tensor<16x3xf32>
}
// CHECK-LABEL: func.func @halves(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}0, 2], [1, 3], [2, 0], [3, 1{{\]\]}}> : tensor<4x2xi64>}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return %[[V0]] : tensor<4x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// The first device receives nothing, which is zero.
func.func @shift_in_zeros(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %a [0:15, 0:3] : (tensor<16x3xf32>) -> tensor<15x3xf32>
  %1 = stablehlo.pad %0, %c, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<15x3xf32>, tensor<f32>) -> tensor<16x3xf32>
  return %1 : tensor<16x3xf32>
}
// CHECK-LABEL: func.func @shift_in_zeros(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V1:.*]] = stablehlo.slice %arg0 [3:4, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V2:.*]] = "stablehlo.collective_permute"(%[[V1]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}0, 1], [1, 2], [2, 3{{\]\]}}> : tensor<3x2xi64>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V3:.*]] = stablehlo.slice %arg0 [0:3, 0:3] : (tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %[[V4:.*]] = stablehlo.concatenate %[[V2]], %[[V3]], dim = 0 : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return %[[V4]] : tensor<4x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// The last device fills its last row.
func.func @shift_in_ones(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.slice %a [1:16, 0:3] : (tensor<16x3xf32>) -> tensor<15x3xf32>
  %1 = stablehlo.pad %0, %c, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<15x3xf32>, tensor<f32>) -> tensor<16x3xf32>
  return %1 : tensor<16x3xf32>
}
// CHECK-LABEL: func.func @shift_in_ones(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.slice %arg0 [0:1, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V1:.*]] = "stablehlo.collective_permute"(%[[V0]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}1, 0], [2, 1], [3, 2{{\]\]}}> : tensor<3x2xi64>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.slice %arg0 [1:4, 0:3] : (tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %[[V3:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<1x3xf32>
// CHECK-NEXT: %[[V4:.*]] = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %[[V5:.*]] = stablehlo.convert %[[V4]] : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %[[V6:.*]] = stablehlo.constant dense<[true, true, true, false]> : tensor<4xi1>
// CHECK-NEXT: %[[V7:.*]] = stablehlo.dynamic_slice %[[V6]], %[[V5]], sizes = [1] : (tensor<4xi1>, tensor<i64>) -> tensor<1xi1>
// CHECK-NEXT: %[[V8:.*]] = stablehlo.broadcast_in_dim %[[V7]], dims = [0] : (tensor<1xi1>) -> tensor<1x3xi1>
// CHECK-NEXT: %[[V9:.*]] = stablehlo.select %[[V8]], %[[V1]], %[[V3]] : tensor<1x3xi1>, tensor<1x3xf32>
// CHECK-NEXT: %[[V10:.*]] = stablehlo.concatenate %[[V2]], %[[V9]], dim = 0 : (tensor<3x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return %[[V10]] : tensor<4x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
func.func @shift_two_in_zeros(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %a [2:16, 0:3] : (tensor<16x3xf32>) -> tensor<14x3xf32>
  %1 = stablehlo.pad %0, %c, low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<14x3xf32>, tensor<f32>) -> tensor<16x3xf32>
  return %1 : tensor<16x3xf32>
}
// CHECK-LABEL: func.func @shift_two_in_zeros(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V1:.*]] = stablehlo.slice %arg0 [2:4, 0:3] : (tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.slice %arg0 [0:2, 0:3] : (tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %[[V3:.*]] = "stablehlo.collective_permute"(%[[V2]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}1, 0], [2, 1], [3, 2{{\]\]}}> : tensor<3x2xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %[[V4:.*]] = stablehlo.concatenate %[[V1]], %[[V3]], dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return %[[V4]] : tensor<4x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// A shift that is written as a concatenation.
func.func @zeros_before(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<1x3xf32>
  %0 = stablehlo.slice %a [0:15, 0:3] : (tensor<16x3xf32>) -> tensor<15x3xf32>
  %1 = stablehlo.concatenate %c, %0, dim = 0 : (tensor<1x3xf32>, tensor<15x3xf32>) -> tensor<16x3xf32>
  return %1 : tensor<16x3xf32>
}
// CHECK-LABEL: func.func @zeros_before(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.slice %arg0 [3:4, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V1:.*]] = "stablehlo.collective_permute"(%[[V0]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}0, 1], [1, 2], [2, 3{{\]\]}}> : tensor<3x2xi64>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.slice %arg0 [0:3, 0:3] : (tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %[[V3:.*]] = stablehlo.concatenate %[[V1]], %[[V2]], dim = 0 : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return %[[V3]] : tensor<4x3xf32>

// -----

sdy.mesh @m = <["x"=4]>
// Values that are extended at both ends.
func.func @circular_stencil(%a: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [15:16, 0:3] : (tensor<16x3xf32>) -> tensor<1x3xf32>
  %1 = stablehlo.slice %a [0:1, 0:3] : (tensor<16x3xf32>) -> tensor<1x3xf32>
  %2 = stablehlo.concatenate %0, %a, %1, dim = 0 : (tensor<1x3xf32>, tensor<16x3xf32>, tensor<1x3xf32>) -> tensor<18x3xf32>
  %3 = stablehlo.slice %2 [0:16, 0:3] : (tensor<18x3xf32>) -> tensor<16x3xf32>
  %4 = stablehlo.slice %2 [2:18, 0:3] : (tensor<18x3xf32>) -> tensor<16x3xf32>
  %5 = stablehlo.add %3, %4 : tensor<16x3xf32>
  return %5 : tensor<16x3xf32>
}
// CHECK-LABEL: func.func @circular_stencil(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
// CHECK-NEXT: %[[V0:.*]] = stablehlo.slice %arg0 [3:4, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V1:.*]] = "stablehlo.collective_permute"(%[[V0]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}0, 1], [1, 2], [2, 3], [3, 0{{\]\]}}> : tensor<4x2xi64>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V2:.*]] = stablehlo.slice %arg0 [0:3, 0:3] : (tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %[[V3:.*]] = stablehlo.concatenate %[[V1]], %[[V2]], dim = 0 : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %[[V4:.*]] = stablehlo.slice %arg0 [0:1, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V5:.*]] = "stablehlo.collective_permute"(%[[V4]]) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<{{\[\[}}0, 3], [1, 0], [2, 1], [3, 2{{\]\]}}> : tensor<4x2xi64>}> : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: %[[V6:.*]] = stablehlo.slice %arg0 [1:4, 0:3] : (tensor<4x3xf32>) -> tensor<3x3xf32>
// CHECK-NEXT: %[[V7:.*]] = stablehlo.concatenate %[[V6]], %[[V5]], dim = 0 : (tensor<3x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %[[V8:.*]] = stablehlo.add %[[V3]], %[[V7]] : tensor<4x3xf32>
// CHECK-NEXT: return %[[V8]] : tensor<4x3xf32>
