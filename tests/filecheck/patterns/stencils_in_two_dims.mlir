// Stencils in two sharded dims send one halo in each direction of each dim.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @five_points {
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
      -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [1, 0], high = [-1, 0], interior = [0, 0] : (tensor<16x16xf32>, tensor<f32>)
      -> tensor<16x16xf32>
  %1 = stablehlo.pad %a, %z, low = [-1, 0], high = [1, 0], interior = [0, 0] : (tensor<16x16xf32>, tensor<f32>)
      -> tensor<16x16xf32>
  %2 = stablehlo.pad %a, %z, low = [0, 1], high = [0, -1], interior = [0, 0] : (tensor<16x16xf32>, tensor<f32>)
      -> tensor<16x16xf32>
  %3 = stablehlo.pad %a, %z, low = [0, -1], high = [0, 1], interior = [0, 0] : (tensor<16x16xf32>, tensor<f32>)
      -> tensor<16x16xf32>
  %4 = stablehlo.add %0, %1 : tensor<16x16xf32>
  %5 = stablehlo.add %2, %3 : tensor<16x16xf32>
  %6 = stablehlo.add %4, %5 : tensor<16x16xf32>
  return %6 : tensor<16x16xf32>
}
}
// CHECK-LABEL: module @five_points {
// CHECK-NEXT: func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:7, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
// CHECK-NEXT: %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1x8xf32>, tensor<7x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %4 = stablehlo.slice %arg0 [1:8, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
// CHECK-NEXT: %5 = stablehlo.slice %arg0 [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT{LITERAL}: %6 = "stablehlo.collective_permute"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[2, 0], [3, 1]]> : tensor<2x2xi64>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: %7 = stablehlo.concatenate %4, %6, dim = 0 : (tensor<7x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %8 = stablehlo.slice %arg0 [0:8, 7:8] : (tensor<8x8xf32>) -> tensor<8x1xf32>
// CHECK-NEXT{LITERAL}: %9 = "stablehlo.collective_permute"(%8) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<8x1xf32>) -> tensor<8x1xf32>
// CHECK-NEXT: %10 = stablehlo.slice %arg0 [0:8, 0:7] : (tensor<8x8xf32>) -> tensor<8x7xf32>
// CHECK-NEXT: %11 = stablehlo.concatenate %9, %10, dim = 1 : (tensor<8x1xf32>, tensor<8x7xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %12 = stablehlo.slice %arg0 [0:8, 1:8] : (tensor<8x8xf32>) -> tensor<8x7xf32>
// CHECK-NEXT: %13 = stablehlo.slice %arg0 [0:8, 0:1] : (tensor<8x8xf32>) -> tensor<8x1xf32>
// CHECK-NEXT{LITERAL}: %14 = "stablehlo.collective_permute"(%13) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, source_target_pairs = dense<[[1, 0], [3, 2]]> : tensor<2x2xi64>}> : (tensor<8x1xf32>) -> tensor<8x1xf32>
// CHECK-NEXT: %15 = stablehlo.concatenate %12, %14, dim = 1 : (tensor<8x7xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %16 = stablehlo.add %3, %7 : tensor<8x8xf32>
// CHECK-NEXT: %17 = stablehlo.add %11, %15 : tensor<8x8xf32>
// CHECK-NEXT: %18 = stablehlo.add %16, %17 : tensor<8x8xf32>
// CHECK-NEXT: return %18 : tensor<8x8xf32>

// -----

// The corner goes by way of the neighbour along the other dim.
module @diagonal_neighbour {
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
      -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [1, 1], high = [-1, -1], interior = [0, 0] : (tensor<16x16xf32>, tensor<f32>)
      -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
}
// CHECK-LABEL: module @diagonal_neighbour {
// CHECK-NEXT: func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [7:8, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<1x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:7, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
// CHECK-NEXT: %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1x8xf32>, tensor<7x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %4 = stablehlo.slice %3 [0:8, 7:8] : (tensor<8x8xf32>) -> tensor<8x1xf32>
// CHECK-NEXT{LITERAL}: %5 = "stablehlo.collective_permute"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<8x1xf32>) -> tensor<8x1xf32>
// CHECK-NEXT: %6 = stablehlo.slice %3 [0:8, 0:7] : (tensor<8x8xf32>) -> tensor<8x7xf32>
// CHECK-NEXT: %7 = stablehlo.concatenate %5, %6, dim = 1 : (tensor<8x1xf32>, tensor<8x7xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: return %7 : tensor<8x8xf32>

// -----

module @reversed {
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
      -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) {
  %0 = stablehlo.reverse %a, dims = [0, 1] : tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
}
// CHECK-LABEL: module @reversed {
// CHECK-NEXT: func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT: %0 = stablehlo.reverse %arg0, dims = [0, 1] : tensor<8x8xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 2], [2, 1], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: return %1 : tensor<8x8xf32>

// -----

module @transposed {
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
      -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
}
// CHECK-LABEL: module @transposed {
// CHECK-NEXT: func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT: %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 0], [1, 2], [2, 1], [3, 3]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: return %1 : tensor<8x8xf32>
