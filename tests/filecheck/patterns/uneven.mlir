// Dims that the axis does not divide.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

// An expert would not pad the value: no device has a shard of it.
module @elementwise {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<63xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<63xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.tanh %a : tensor<63xf32>
  return %0 : tensor<63xf32>
}
}
// CHECK-LABEL: module @elementwise {
// CHECK-NEXT: func.func @main(%arg0: tensor<63xf32>) -> tensor<63xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.pad %arg0, %cst, low = [0], high = [1], interior = [0] : (tensor<63xf32>, tensor<f32>) -> tensor<64xf32>
// CHECK-NEXT: %1 = stablehlo.tanh %0 : tensor<64xf32>
// CHECK-NEXT: %2 = stablehlo.slice %1 [0:63] : (tensor<64xf32>) -> tensor<63xf32>
// CHECK-NEXT: return %2 : tensor<63xf32>

// -----

module @reduced {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<63x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<63x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
}
// CHECK-LABEL: module @reduced {
// CHECK-NEXT: func.func @main(%arg0: tensor<63x8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<63x8xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT: return %0 : tensor<8xf32>

// -----

module @of_a_sharded_neighbour {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<f32> {sdy.sharding = #sdy.sharding<@m, []>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %a [1:64] : (tensor<64xf32>) -> tensor<63xf32>
  %1 = stablehlo.slice %a [0:63] : (tensor<64xf32>) -> tensor<63xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<63xf32>
  %3 = stablehlo.abs %2 : tensor<63xf32>
  %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<63xf32>, tensor<f32>)
      -> tensor<f32>
  return %4 : tensor<f32>
}
}
// CHECK-LABEL: module @of_a_sharded_neighbour {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<f32> {
// CHECK-NEXT: %c = stablehlo.constant dense<63> : tensor<i32>
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [1:16] : (tensor<16xf32>) -> tensor<15xf32>
// CHECK-NEXT: %1 = stablehlo.slice %arg0 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
// CHECK-NEXT{LITERAL}: %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NEXT: %3 = stablehlo.concatenate %0, %2, dim = 0 : (tensor<15xf32>, tensor<1xf32>) -> tensor<16xf32>
// CHECK-NEXT: %4 = stablehlo.subtract %3, %arg0 : tensor<16xf32>
// CHECK-NEXT: %5 = stablehlo.abs %4 : tensor<16xf32>
// CHECK-NEXT: %6 = stablehlo.iota dim = 0 : tensor<16xi32>
// CHECK-NEXT: %7 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %8 = stablehlo.convert %7 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_1 = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %9 = stablehlo.dynamic_slice %c_1, %8, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %10 = stablehlo.reshape %9 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %11 = stablehlo.convert %10 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<i32>) -> tensor<16xi32>
// CHECK-NEXT: %13 = stablehlo.add %6, %12 : tensor<16xi32>
// CHECK-NEXT: %14 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16xi32>
// CHECK-NEXT: %15 = stablehlo.compare LT, %13, %14 : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
// CHECK-NEXT: %16 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<16xi1>) -> tensor<16xi1>
// CHECK-NEXT: %17 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16xf32>
// CHECK-NEXT: %18 = stablehlo.select %16, %5, %17 : tensor<16xi1>, tensor<16xf32>
// CHECK-NEXT: %19 = stablehlo.reduce(%18 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT{LITERAL}: %20 = "stablehlo.all_reduce"(%19) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %21 = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %21 : tensor<f32>
// CHECK-NEXT: }) : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT: return %20 : tensor<f32>

// -----

module @contracted {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x63xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>},
      %b: tensor<63x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x63xf32>, tensor<63x8xf32>)
      -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
}
// CHECK-LABEL: module @contracted {
// CHECK-NEXT: func.func @main(%arg0: tensor<8x63xf32>, %arg1: tensor<63x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT: %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x63xf32>, tensor<63x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: return %0 : tensor<8x8xf32>
