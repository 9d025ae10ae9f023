// Windows send the halos that they read.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @of_two_in_steps_of_two {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a,
      %z) <{window_dimensions = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>, window_strides = array<i64: 2>}>
      ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64xf32>, tensor<f32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
}
// CHECK-LABEL: module @of_two_in_steps_of_two {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK-NEXT: %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %1 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %1 : tensor<f32>
// CHECK-NEXT: }) : (tensor<16xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT: return %0 : tensor<8xf32>

// -----

// An expert would look up the number of the device once, and need no broadcasts between equal shapes.
module @of_three {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a,
      %z) <{window_dimensions = array<i64: 3>, padding = dense<1> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @of_three {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [15:16] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %2 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[true, false, false, false]> : tensor<4xi1>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %c, %3, sizes = [1] : (tensor<4xi1>, tensor<i64>) -> tensor<1xi1>
// CHECK-NEXT: %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<1xi1>) -> tensor<1xi1>
// CHECK-NEXT: %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1xf32>
// CHECK-NEXT: %7 = stablehlo.select %5, %6, %1 : tensor<1xi1>, tensor<1xf32>
// CHECK-NEXT: %8 = stablehlo.slice %arg0 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %9 = "stablehlo.collective_permute"(%8) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %10 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %11 = stablehlo.convert %10 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<[false, false, false, true]> : tensor<4xi1>
// CHECK-NEXT: %12 = stablehlo.dynamic_slice %c_0, %11, sizes = [1] : (tensor<4xi1>, tensor<i64>) -> tensor<1xi1>
// CHECK-NEXT: %13 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<1xi1>) -> tensor<1xi1>
// CHECK-NEXT: %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1xf32>
// CHECK-NEXT: %15 = stablehlo.select %13, %14, %9 : tensor<1xi1>, tensor<1xf32>
// CHECK-NEXT: %16 = stablehlo.concatenate %7, %arg0, %15, dim = 0 : (tensor<1xf32>, tensor<16xf32>, tensor<1xf32>) -> tensor<18xf32>
// CHECK-NEXT: %17 = "stablehlo.reduce_window"(%16, %cst) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %18 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %18 : tensor<f32>
// CHECK-NEXT: }) : (tensor<18xf32>, tensor<f32>) -> tensor<16xf32>
// CHECK-NEXT: return %17 : tensor<16xf32>

// -----

module @of_three_in_steps_of_two {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a,
      %z) <{window_dimensions = array<i64: 3>, padding = dense<[[0, 1]]> : tensor<1x2xi64>, window_strides =
      array<i64: 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64xf32>, tensor<f32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
}
// CHECK-LABEL: module @of_three_in_steps_of_two {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %2 = stablehlo.concatenate %arg0, %1, dim = 0 : (tensor<16xf32>, tensor<1xf32>) -> tensor<17xf32>
// CHECK-NEXT: %3 = "stablehlo.reduce_window"(%2, %cst) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %4 = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %4 : tensor<f32>
// CHECK-NEXT: }) : (tensor<17xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT: return %3 : tensor<8xf32>

// -----

module @with_holes {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a,
      %z) <{window_dimensions = array<i64: 2>, padding = dense<[[4, 0]]> : tensor<1x2xi64>, window_dilations =
      array<i64: 4>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @with_holes {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [12:16] : (tensor<16xf32>) -> tensor<4xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %2 = stablehlo.concatenate %1, %arg0, dim = 0 : (tensor<4xf32>, tensor<16xf32>) -> tensor<20xf32>
// CHECK-NEXT: %3 = "stablehlo.reduce_window"(%2, %cst) <{padding = dense<0> : tensor<1x2xi64>, window_dilations = array<i64: 4>, window_dimensions = array<i64: 2>}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %4 = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %4 : tensor<f32>
// CHECK-NEXT: }) : (tensor<20xf32>, tensor<f32>) -> tensor<16xf32>
// CHECK-NEXT: return %3 : tensor<16xf32>

// -----

module @along_both_dims {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a,
      %z) <{window_dimensions = array<i64: 3, 3>, padding = dense<1> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64x8xf32>, tensor<f32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @along_both_dims {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [15:16, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:1, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT{LITERAL}: %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: %4 = stablehlo.concatenate %1, %arg0, %3, dim = 0 : (tensor<1x8xf32>, tensor<16x8xf32>, tensor<1x8xf32>) -> tensor<18x8xf32>
// CHECK-NEXT{LITERAL}: %5 = "stablehlo.reduce_window"(%4, %cst) <{padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 3>}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %6 = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %6 : tensor<f32>
// CHECK-NEXT: }) : (tensor<18x8xf32>, tensor<f32>) -> tensor<16x8xf32>
// CHECK-NEXT: return %5 : tensor<16x8xf32>
