// A one-hot is computed where its elements are used.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @of_sharded_labels {
sdy.mesh @m = <["x"=4]>
func.func @main(%l: tensor<64xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.iota dim = 1 : tensor<64x8xi32>
  %1 = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<64xi32>) -> tensor<64x8xi32>
  %2 = stablehlo.compare EQ, %1, %0 : (tensor<64x8xi32>, tensor<64x8xi32>) -> tensor<64x8xi1>
  %3 = stablehlo.convert %2 : (tensor<64x8xi1>) -> tensor<64x8xf32>
  return %3 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @of_sharded_labels {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xi32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %0 = stablehlo.iota dim = 1 : tensor<16x8xi32>
// CHECK-NEXT: %1 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<16xi32>) -> tensor<16x8xi32>
// CHECK-NEXT: %2 = stablehlo.compare EQ, %1, %0 : (tensor<16x8xi32>, tensor<16x8xi32>) -> tensor<16x8xi1>
// CHECK-NEXT: %3 = stablehlo.convert %2 : (tensor<16x8xi1>) -> tensor<16x8xf32>
// CHECK-NEXT: return %3 : tensor<16x8xf32>

// -----

module @of_sharded_classes {
sdy.mesh @m = <["x"=4]>
func.func @main(%l: tensor<16xi32> {sdy.sharding = #sdy.sharding<@m, [{}]>})
      -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %0 = stablehlo.iota dim = 1 : tensor<16x64xi32>
  %1 = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<16xi32>) -> tensor<16x64xi32>
  %2 = stablehlo.compare EQ, %1, %0 : (tensor<16x64xi32>, tensor<16x64xi32>) -> tensor<16x64xi1>
  %3 = stablehlo.convert %2 : (tensor<16x64xi1>) -> tensor<16x64xf32>
  return %3 : tensor<16x64xf32>
}
}
// CHECK-LABEL: module @of_sharded_classes {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xi32>) -> tensor<16x16xf32> {
// CHECK-NEXT: %0 = stablehlo.iota dim = 1 : tensor<16x16xi32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.convert %4 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<16x16xi32>
// CHECK-NEXT: %7 = stablehlo.add %0, %6 : tensor<16x16xi32>
// CHECK-NEXT: %8 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<16xi32>) -> tensor<16x16xi32>
// CHECK-NEXT: %9 = stablehlo.compare EQ, %8, %7 : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
// CHECK-NEXT: %10 = stablehlo.convert %9 : (tensor<16x16xi1>) -> tensor<16x16xf32>
// CHECK-NEXT: return %10 : tensor<16x16xf32>

// -----

module @picked_logits {
sdy.mesh @m = <["x"=4]>
func.func @main(%l: tensor<16xi32>, %a: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>})
      -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.iota dim = 1 : tensor<16x64xi32>
  %1 = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<16xi32>) -> tensor<16x64xi32>
  %2 = stablehlo.compare EQ, %1, %0 : (tensor<16x64xi32>, tensor<16x64xi32>) -> tensor<16x64xi1>
  %3 = stablehlo.convert %2 : (tensor<16x64xi1>) -> tensor<16x64xf32>
  %4 = stablehlo.multiply %3, %a : tensor<16x64xf32>
  %5 = stablehlo.reduce(%4 init: %z) applies stablehlo.add across dimensions = [1]
      : (tensor<16x64xf32>, tensor<f32>) -> tensor<16xf32>
  return %5 : tensor<16xf32>
}
}
// CHECK-LABEL: module @picked_logits {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xi32>, %arg1: tensor<16x16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.iota dim = 1 : tensor<16x16xi32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.convert %4 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<16x16xi32>
// CHECK-NEXT: %7 = stablehlo.add %0, %6 : tensor<16x16xi32>
// CHECK-NEXT: %8 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<16xi32>) -> tensor<16x16xi32>
// CHECK-NEXT: %9 = stablehlo.compare EQ, %8, %7 : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
// CHECK-NEXT: %10 = stablehlo.convert %9 : (tensor<16x16xi1>) -> tensor<16x16xf32>
// CHECK-NEXT: %11 = stablehlo.multiply %10, %arg1 : tensor<16x16xf32>
// CHECK-NEXT: %12 = stablehlo.reduce(%11 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
// CHECK-NEXT{LITERAL}: %13 = "stablehlo.all_reduce"(%12) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
// CHECK-NEXT: %14 = stablehlo.add %arg2, %arg3 : tensor<f32>
// CHECK-NEXT: stablehlo.return %14 : tensor<f32>
// CHECK-NEXT: }) : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %13 : tensor<16xf32>

// -----

module @of_a_sharded_table {
sdy.mesh @m = <["x"=4]>
func.func @main(%l: tensor<16xi32>, %t: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.iota dim = 1 : tensor<16x64xi32>
  %1 = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<16xi32>) -> tensor<16x64xi32>
  %2 = stablehlo.compare EQ, %1, %0 : (tensor<16x64xi32>, tensor<16x64xi32>) -> tensor<16x64xi1>
  %3 = stablehlo.convert %2 : (tensor<16x64xi1>) -> tensor<16x64xf32>
  %4 = stablehlo.dot_general %3, %t, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x8xf32>)
      -> tensor<16x8xf32>
  return %4 : tensor<16x8xf32>
}
}
// CHECK-LABEL: module @of_a_sharded_table {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xi32>, %arg1: tensor<16x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %0 = stablehlo.iota dim = 1 : tensor<16x16xi32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.convert %4 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<16x16xi32>
// CHECK-NEXT: %7 = stablehlo.add %0, %6 : tensor<16x16xi32>
// CHECK-NEXT: %8 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<16xi32>) -> tensor<16x16xi32>
// CHECK-NEXT: %9 = stablehlo.compare EQ, %8, %7 : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
// CHECK-NEXT: %10 = stablehlo.convert %9 : (tensor<16x16xi1>) -> tensor<16x16xf32>
// CHECK-NEXT: %11 = stablehlo.dot_general %10, %arg1, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
// CHECK-NEXT{LITERAL}: %12 = "stablehlo.all_reduce"(%11) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
// CHECK-NEXT: %13 = stablehlo.add %arg2, %arg3 : tensor<f32>
// CHECK-NEXT: stablehlo.return %13 : tensor<f32>
// CHECK-NEXT: }) : (tensor<16x8xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: return %12 : tensor<16x8xf32>
