// A reversal of a sharded dim sends each shard once, to its mirror image.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @of_a_sharded_dim {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @of_a_sharded_dim {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = stablehlo.reverse %arg0, dims = [0] : tensor<16xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 2], [2, 1], [3, 0]]> : tensor<4x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %1 : tensor<16xf32>

// -----

module @of_an_unsharded_dim {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.reverse %a, dims = [1] : tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @of_an_unsharded_dim {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %0 = stablehlo.reverse %arg0, dims = [1] : tensor<16x8xf32>
// CHECK-NEXT: return %0 : tensor<16x8xf32>

// -----

module @back_again {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<64xf32>
  %1 = stablehlo.exponential %0 : tensor<64xf32>
  %2 = stablehlo.reverse %1, dims = [0] : tensor<64xf32>
  return %2 : tensor<64xf32>
}
}
// CHECK-LABEL: module @back_again {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = stablehlo.exponential %arg0 : tensor<16xf32>
// CHECK-NEXT: return %0 : tensor<16xf32>

// -----

// An expert would not reverse what is added up.
module @before_a_sum {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reverse %a, dims = [0] : tensor<64xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>)
      -> tensor<f32>
  return %1 : tensor<f32>
}
}
// CHECK-LABEL: module @before_a_sum {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<f32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.reverse %arg0, dims = [0] : tensor<16xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 2], [2, 1], [3, 0]]> : tensor<4x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT: %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT{LITERAL}: %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %4 = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %4 : tensor<f32>
// CHECK-NEXT: }) : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT: return %3 : tensor<f32>

// -----

module @palindrome {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<64xf32>
  %1 = stablehlo.add %a, %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}
}
// CHECK-LABEL: module @palindrome {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = stablehlo.reverse %arg0, dims = [0] : tensor<16xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 2], [2, 1], [3, 0]]> : tensor<4x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT: %2 = stablehlo.add %arg0, %1 : tensor<16xf32>
// CHECK-NEXT: return %2 : tensor<16xf32>
