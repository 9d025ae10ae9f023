// Cumulative ops along a sharded dim send one value of each shard.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

// An expert would compare with the number of the device, which is the entry that is looked up.
module @sum {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a,
      %z) <{window_dimensions = array<i64: 64>, padding = dense<[[63, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @sum {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT{LITERAL}: %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[15, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 16>}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %15 = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %15 : tensor<f32>
// CHECK-NEXT: }) : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
// CHECK-NEXT: %1 = stablehlo.slice %0 [15:16] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<1xf32>) -> tensor<4xf32>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK-NEXT: %5 = stablehlo.dynamic_slice %c_0, %4, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %6 = stablehlo.reshape %5 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i64>) -> tensor<4xi64>
// CHECK-NEXT: %8 = stablehlo.compare LT, %c, %7 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
// CHECK-NEXT: %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<4xi1>) -> tensor<4xi1>
// CHECK-NEXT: %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: %11 = stablehlo.select %9, %2, %10 : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %12 = stablehlo.reduce(%11 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %13 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<f32>) -> tensor<16xf32>
// CHECK-NEXT: %14 = stablehlo.add %13, %0 : tensor<16xf32>
// CHECK-NEXT: return %14 : tensor<16xf32>

// -----

module @sum_from_the_end {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a,
      %z) <{window_dimensions = array<i64: 64>, padding = dense<[[0, 63]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @sum_from_the_end {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT{LITERAL}: %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[0, 15]]> : tensor<1x2xi64>, window_dimensions = array<i64: 16>}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %15 = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %15 : tensor<f32>
// CHECK-NEXT: }) : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
// CHECK-NEXT: %1 = stablehlo.slice %0 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<1xf32>) -> tensor<4xf32>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK-NEXT: %5 = stablehlo.dynamic_slice %c_0, %4, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %6 = stablehlo.reshape %5 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i64>) -> tensor<4xi64>
// CHECK-NEXT: %8 = stablehlo.compare GT, %c, %7 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
// CHECK-NEXT: %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<4xi1>) -> tensor<4xi1>
// CHECK-NEXT: %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: %11 = stablehlo.select %9, %2, %10 : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %12 = stablehlo.reduce(%11 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %13 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<f32>) -> tensor<16xf32>
// CHECK-NEXT: %14 = stablehlo.add %13, %0 : tensor<16xf32>
// CHECK-NEXT: return %14 : tensor<16xf32>

// -----

module @maximum {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a,
      %z) <{window_dimensions = array<i64: 64, 1>, padding = dense<[[63, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64x8xf32>, tensor<f32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @maximum {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK-NEXT{LITERAL}: %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 16, 1>}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %15 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %15 : tensor<f32>
// CHECK-NEXT: }) : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
// CHECK-NEXT: %1 = stablehlo.slice %0 [15:16, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT{LITERAL}: %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<1x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK-NEXT: %5 = stablehlo.dynamic_slice %c_0, %4, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %6 = stablehlo.reshape %5 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i64>) -> tensor<4xi64>
// CHECK-NEXT: %8 = stablehlo.compare LT, %c, %7 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
// CHECK-NEXT: %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<4xi1>) -> tensor<4x8xi1>
// CHECK-NEXT: %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
// CHECK-NEXT: %11 = stablehlo.select %9, %2, %10 : tensor<4x8xi1>, tensor<4x8xf32>
// CHECK-NEXT: %12 = stablehlo.reduce(%11 init: %cst) applies stablehlo.maximum across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT: %13 = stablehlo.broadcast_in_dim %12, dims = [1] : (tensor<8xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: %14 = stablehlo.maximum %13, %0 : tensor<16x8xf32>
// CHECK-NEXT: return %14 : tensor<16x8xf32>

// -----

module @along_an_unsharded_dim {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a,
      %z) <{window_dimensions = array<i64: 1, 8>, padding = dense<[[0, 0], [7, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64x8xf32>, tensor<f32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @along_an_unsharded_dim {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT{LITERAL}: %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[0, 0], [7, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 8>}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %1 = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %1 : tensor<f32>
// CHECK-NEXT: }) : (tensor<16x8xf32>, tensor<f32>) -> tensor<16x8xf32>
// CHECK-NEXT: return %0 : tensor<16x8xf32>

// -----

// An expert would shift the sums within the shard and need no second collective.
module @sum_before_each {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a,
      %z) <{window_dimensions = array<i64: 64>, padding = dense<[[63, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = stablehlo.pad %0, %z, low = [1], high = [-1], interior = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
}
// CHECK-LABEL: module @sum_before_each {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT{LITERAL}: %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[15, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 16>}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %19 = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %19 : tensor<f32>
// CHECK-NEXT: }) : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
// CHECK-NEXT: %1 = stablehlo.slice %0 [15:16] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<1xf32>) -> tensor<4xf32>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK-NEXT: %5 = stablehlo.dynamic_slice %c_0, %4, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %6 = stablehlo.reshape %5 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i64>) -> tensor<4xi64>
// CHECK-NEXT: %8 = stablehlo.compare LT, %c, %7 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
// CHECK-NEXT: %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<4xi1>) -> tensor<4xi1>
// CHECK-NEXT: %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: %11 = stablehlo.select %9, %2, %10 : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %12 = stablehlo.reduce(%11 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: %13 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<f32>) -> tensor<16xf32>
// CHECK-NEXT: %14 = stablehlo.add %13, %0 : tensor<16xf32>
// CHECK-NEXT: %15 = stablehlo.slice %14 [15:16] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %16 = "stablehlo.collective_permute"(%15) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %17 = stablehlo.slice %14 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
// CHECK-NEXT: %18 = stablehlo.concatenate %16, %17, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %18 : tensor<16xf32>
