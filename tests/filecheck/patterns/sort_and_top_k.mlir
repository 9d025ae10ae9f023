// What is sorted, and what is largest.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @rows {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<64x8xf32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @rows {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %1 = stablehlo.compare LT, %arg1, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: stablehlo.return %1 : tensor<i1>
// CHECK-NEXT: }) : (tensor<16x8xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: return %0 : tensor<16x8xf32>

// -----

module @columns {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<64x8xf32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @columns {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT{LITERAL}: %0 = "stablehlo.all_to_all"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<16x8xf32>) -> tensor<64x2xf32>
// CHECK-NEXT: %1 = "stablehlo.sort"(%0) <{dimension = 0 : i64}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %3 = stablehlo.compare LT, %arg1, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: stablehlo.return %3 : tensor<i1>
// CHECK-NEXT: }) : (tensor<64x2xf32>) -> tensor<64x2xf32>
// CHECK-NEXT{LITERAL}: %2 = "stablehlo.all_to_all"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<64x2xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: return %2 : tensor<16x8xf32>

// -----

module @largest_of_a_sharded_dim {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}, tensor<2xi32> {sdy.sharding = #sdy.sharding<@m,
      [{}]>}) {
  %0:2 = chlo.top_k(%a, k = 2) : tensor<64xf32> -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>
}
}
// CHECK-LABEL: module @largest_of_a_sharded_dim {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
// CHECK-NEXT: %values, %indices = chlo.top_k(%arg0, k = 2) : tensor<16xf32> -> (tensor<2xf32>, tensor<2xi32>)
// CHECK-NEXT: %0 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %2 = stablehlo.dynamic_slice %c, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %3 = stablehlo.reshape %2 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %4 = stablehlo.convert %3 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i32>) -> tensor<2xi32>
// CHECK-NEXT: %6 = stablehlo.add %indices, %5 : tensor<2xi32>
// CHECK-NEXT{LITERAL}: %7:2 = "stablehlo.all_gather"(%values, %6) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<2xf32>, tensor<2xi32>) -> (tensor<8xf32>, tensor<8xi32>)
// CHECK-NEXT: %values_0, %indices_1 = chlo.top_k(%7#0, k = 2) : tensor<8xf32> -> (tensor<2xf32>, tensor<2xi32>)
// CHECK-NEXT: %8 = "stablehlo.gather"(%7#1, %indices_1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<8xi32>, tensor<2xi32>) -> tensor<2xi32>
// CHECK-NEXT: return %values_0, %8 : tensor<2xf32>, tensor<2xi32>

// -----

module @largest_of_rows {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, tensor<64x2xi32> {sdy.sharding =
      #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0:2 = chlo.top_k(%a, k = 2) : tensor<64x8xf32> -> (tensor<64x2xf32>, tensor<64x2xi32>)
  return %0#0, %0#1 : tensor<64x2xf32>, tensor<64x2xi32>
}
}
// CHECK-LABEL: module @largest_of_rows {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> (tensor<16x2xf32>, tensor<16x2xi32>) {
// CHECK-NEXT: %values, %indices = chlo.top_k(%arg0, k = 2) : tensor<16x8xf32> -> (tensor<16x2xf32>, tensor<16x2xi32>)
// CHECK-NEXT: return %values, %indices : tensor<16x2xf32>, tensor<16x2xi32>

// -----

module @maximum {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0]
      : (tensor<64x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
}
// CHECK-LABEL: module @maximum {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %2 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %2 : tensor<f32>
// CHECK-NEXT: }) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: return %1 : tensor<8xf32>
