// Rolls and shifts send what leaves a shard, and no more.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @roll_by_one {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [63:64] : (tensor<64xf32>) -> tensor<1xf32>
  %1 = stablehlo.slice %a [0:63] : (tensor<64xf32>) -> tensor<63xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<63xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
}
// CHECK-LABEL: module @roll_by_one {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [15:16] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
// CHECK-NEXT: %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %3 : tensor<16xf32>

// -----

module @roll_back_by_three {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [3:64] : (tensor<64xf32>) -> tensor<61xf32>
  %1 = stablehlo.slice %a [0:3] : (tensor<64xf32>) -> tensor<3xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<61xf32>, tensor<3xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
}
// CHECK-LABEL: module @roll_back_by_three {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [0:3] : (tensor<16xf32>) -> tensor<3xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [3:16] : (tensor<16xf32>) -> tensor<13xf32>
// CHECK-NEXT: %3 = stablehlo.concatenate %2, %1, dim = 0 : (tensor<13xf32>, tensor<3xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %3 : tensor<16xf32>

// -----

module @roll_by_a_shard {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [48:64] : (tensor<64xf32>) -> tensor<16xf32>
  %1 = stablehlo.slice %a [0:48] : (tensor<64xf32>) -> tensor<48xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<16xf32>, tensor<48xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
}
// CHECK-LABEL: module @roll_by_a_shard {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT{LITERAL}: %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %0 : tensor<16xf32>

// -----

module @roll_by_more_than_a_shard {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [44:64] : (tensor<64xf32>) -> tensor<20xf32>
  %1 = stablehlo.slice %a [0:44] : (tensor<64xf32>) -> tensor<44xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<20xf32>, tensor<44xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
}
// CHECK-LABEL: module @roll_by_more_than_a_shard {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [12:16] : (tensor<16xf32>) -> tensor<4xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:12] : (tensor<16xf32>) -> tensor<12xf32>
// CHECK-NEXT{LITERAL}: %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<12xf32>) -> tensor<12xf32>
// CHECK-NEXT: %4 = stablehlo.concatenate %1, %3, dim = 0 : (tensor<4xf32>, tensor<12xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %4 : tensor<16xf32>

// -----

module @roll_of_rows {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [0:64, 7:8] : (tensor<64x8xf32>) -> tensor<64x1xf32>
  %1 = stablehlo.slice %a [0:64, 0:7] : (tensor<64x8xf32>) -> tensor<64x7xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<64x1xf32>, tensor<64x7xf32>) -> tensor<64x8xf32>
  return %2 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @roll_of_rows {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [0:16, 7:8] : (tensor<16x8xf32>) -> tensor<16x1xf32>
// CHECK-NEXT: %1 = stablehlo.slice %arg0 [0:16, 0:7] : (tensor<16x8xf32>) -> tensor<16x7xf32>
// CHECK-NEXT: %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<16x1xf32>, tensor<16x7xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: return %2 : tensor<16x8xf32>

// -----

module @shift_by_one {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [1], high = [-1], interior = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @shift_by_one {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [15:16] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
// CHECK-NEXT: %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %3 : tensor<16xf32>

// -----

module @shift_back_by_a_shard_and_one {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [-17], high = [17], interior = [0] : (tensor<64xf32>, tensor<f32>)
      -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @shift_back_by_a_shard_and_one {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [1:16] : (tensor<16xf32>) -> tensor<15xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<15xf32>) -> tensor<15xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[2, 0], [3, 1]]> : tensor<2x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %4 = stablehlo.concatenate %1, %3, dim = 0 : (tensor<15xf32>, tensor<1xf32>) -> tensor<16xf32>
// CHECK-NEXT: %5 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %6 = stablehlo.convert %5 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %7 = stablehlo.dynamic_slice %c, %6, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %8 = stablehlo.reshape %7 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %9 = stablehlo.iota dim = 0 : tensor<16xi64>
// CHECK-NEXT: %10 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<i64>) -> tensor<16xi64>
// CHECK-NEXT: %11 = stablehlo.add %9, %10 : tensor<16xi64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<47> : tensor<i64>
// CHECK-NEXT: %12 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<16xi64>
// CHECK-NEXT: %13 = stablehlo.compare LT, %11, %12 : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi1>
// CHECK-NEXT: %14 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<16xi1>) -> tensor<16xi1>
// CHECK-NEXT: %15 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16xf32>
// CHECK-NEXT: %16 = stablehlo.select %14, %4, %15 : tensor<16xi1>, tensor<16xf32>
// CHECK-NEXT: return %16 : tensor<16xf32>

// -----

module @shift_of_a_slice {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<2xf32>
  %0 = stablehlo.slice %a [0:62] : (tensor<64xf32>) -> tensor<62xf32>
  %1 = stablehlo.concatenate %z, %0, dim = 0 : (tensor<2xf32>, tensor<62xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
}
// CHECK-LABEL: module @shift_of_a_slice {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [14:16] : (tensor<16xf32>) -> tensor<2xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:14] : (tensor<16xf32>) -> tensor<14xf32>
// CHECK-NEXT: %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<2xf32>, tensor<14xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %3 : tensor<16xf32>
