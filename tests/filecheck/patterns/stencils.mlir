// Stencils send one halo in each direction.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @difference {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [1], high = [-1], interior = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = stablehlo.subtract %a, %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}
}
// CHECK-LABEL: module @difference {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [15:16] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
// CHECK-NEXT: %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
// CHECK-NEXT: %4 = stablehlo.subtract %arg0, %3 : tensor<16xf32>
// CHECK-NEXT: return %4 : tensor<16xf32>

// -----

module @three_points {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [1], high = [1], interior = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<66xf32>
  %1 = stablehlo.slice %0 [0:64] : (tensor<66xf32>) -> tensor<64xf32>
  %2 = stablehlo.slice %0 [2:66] : (tensor<66xf32>) -> tensor<64xf32>
  %3 = stablehlo.add %1, %2 : tensor<64xf32>
  %4 = stablehlo.subtract %3, %a : tensor<64xf32>
  return %4 : tensor<64xf32>
}
}
// CHECK-LABEL: module @three_points {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [15:16] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
// CHECK-NEXT: %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
// CHECK-NEXT: %4 = stablehlo.slice %arg0 [1:16] : (tensor<16xf32>) -> tensor<15xf32>
// CHECK-NEXT: %5 = stablehlo.slice %arg0 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %6 = "stablehlo.collective_permute"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %7 = stablehlo.concatenate %4, %6, dim = 0 : (tensor<15xf32>, tensor<1xf32>) -> tensor<16xf32>
// CHECK-NEXT: %8 = stablehlo.add %3, %7 : tensor<16xf32>
// CHECK-NEXT: %9 = stablehlo.subtract %8, %arg0 : tensor<16xf32>
// CHECK-NEXT: return %9 : tensor<16xf32>

// -----

module @periodic {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [63:64] : (tensor<64xf32>) -> tensor<1xf32>
  %1 = stablehlo.slice %a [0:63] : (tensor<64xf32>) -> tensor<63xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<63xf32>) -> tensor<64xf32>
  %3 = stablehlo.slice %a [1:64] : (tensor<64xf32>) -> tensor<63xf32>
  %4 = stablehlo.slice %a [0:1] : (tensor<64xf32>) -> tensor<1xf32>
  %5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<63xf32>, tensor<1xf32>) -> tensor<64xf32>
  %6 = stablehlo.add %2, %5 : tensor<64xf32>
  return %6 : tensor<64xf32>
}
}
// CHECK-LABEL: module @periodic {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [15:16] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
// CHECK-NEXT: %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
// CHECK-NEXT: %4 = stablehlo.slice %arg0 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %5 = "stablehlo.collective_permute"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %6 = stablehlo.slice %arg0 [1:16] : (tensor<16xf32>) -> tensor<15xf32>
// CHECK-NEXT: %7 = stablehlo.concatenate %6, %5, dim = 0 : (tensor<15xf32>, tensor<1xf32>) -> tensor<16xf32>
// CHECK-NEXT: %8 = stablehlo.add %3, %7 : tensor<16xf32>
// CHECK-NEXT: return %8 : tensor<16xf32>

// -----

// An expert would need no broadcast between equal shapes.
module @clamped {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.slice %a [0:1] : (tensor<64xf32>) -> tensor<1xf32>
  %1 = stablehlo.slice %a [0:63] : (tensor<64xf32>) -> tensor<63xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<63xf32>) -> tensor<64xf32>
  %3 = stablehlo.subtract %a, %2 : tensor<64xf32>
  return %3 : tensor<64xf32>
}
}
// CHECK-LABEL: module @clamped {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [15:16] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT: %3 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT: %5 = stablehlo.dynamic_slice %c, %4, sizes = [1] : (tensor<2xi1>, tensor<i64>) -> tensor<1xi1>
// CHECK-NEXT: %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<1xi1>) -> tensor<1xi1>
// CHECK-NEXT: %7 = stablehlo.select %6, %2, %1 : tensor<1xi1>, tensor<1xf32>
// CHECK-NEXT: %8 = stablehlo.slice %arg0 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
// CHECK-NEXT: %9 = stablehlo.concatenate %7, %8, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
// CHECK-NEXT: %10 = stablehlo.subtract %arg0, %9 : tensor<16xf32>
// CHECK-NEXT: return %10 : tensor<16xf32>

// -----

// An expert would send one element in each direction, and select the inner points; this sends two to the left.
module @inner_points {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %a [0:62] : (tensor<64xf32>) -> tensor<62xf32>
  %1 = stablehlo.slice %a [2:64] : (tensor<64xf32>) -> tensor<62xf32>
  %2 = stablehlo.add %0, %1 : tensor<62xf32>
  %3 = stablehlo.pad %2, %z, low = [1], high = [1], interior = [0] : (tensor<62xf32>, tensor<f32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}
}
// CHECK-LABEL: module @inner_points {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %c = stablehlo.constant dense<62> : tensor<i32>
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [2:16] : (tensor<16xf32>) -> tensor<14xf32>
// CHECK-NEXT: %1 = stablehlo.slice %arg0 [0:2] : (tensor<16xf32>) -> tensor<2xf32>
// CHECK-NEXT{LITERAL}: %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %3 = stablehlo.concatenate %0, %2, dim = 0 : (tensor<14xf32>, tensor<2xf32>) -> tensor<16xf32>
// CHECK-NEXT: %4 = stablehlo.add %arg0, %3 : tensor<16xf32>
// CHECK-NEXT: %5 = stablehlo.iota dim = 0 : tensor<16xi32>
// CHECK-NEXT: %6 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %7 = stablehlo.convert %6 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %8 = stablehlo.dynamic_slice %c_0, %7, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %9 = stablehlo.reshape %8 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %10 = stablehlo.convert %9 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i32>) -> tensor<16xi32>
// CHECK-NEXT: %12 = stablehlo.add %5, %11 : tensor<16xi32>
// CHECK-NEXT: %13 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16xi32>
// CHECK-NEXT: %14 = stablehlo.compare LT, %12, %13 : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
// CHECK-NEXT: %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<16xi1>) -> tensor<16xi1>
// CHECK-NEXT: %16 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16xf32>
// CHECK-NEXT: %17 = stablehlo.select %15, %4, %16 : tensor<16xi1>, tensor<16xf32>
// CHECK-NEXT: %18 = stablehlo.slice %4 [15:16] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %19 = "stablehlo.collective_permute"(%18) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %20 = stablehlo.slice %17 [0:15] : (tensor<16xf32>) -> tensor<15xf32>
// CHECK-NEXT: %21 = stablehlo.concatenate %19, %20, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %21 : tensor<16xf32>
