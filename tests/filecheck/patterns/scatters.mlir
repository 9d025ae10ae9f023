// Scatters write the shards on which the elements are.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @rows_of_a_sharded_table {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %i: tensor<16x1xi32>,
      %u: tensor<16x8xf32>) -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = "stablehlo.scatter"(%a, %i,
      %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @rows_of_a_sharded_table {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<16x1xi32>, %arg2: tensor<16x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %0 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %2 = stablehlo.dynamic_slice %c, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %3 = stablehlo.reshape %2 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %4 = stablehlo.convert %3 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i32>) -> tensor<16x1xi32>
// CHECK-NEXT: %6 = stablehlo.subtract %arg1, %5 : tensor<16x1xi32>
// CHECK-NEXT: %7 = "stablehlo.scatter"(%arg0, %6, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK-NEXT: ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
// CHECK-NEXT: %8 = stablehlo.add %arg3, %arg4 : tensor<f32>
// CHECK-NEXT: stablehlo.return %8 : tensor<f32>
// CHECK-NEXT: }) : (tensor<16x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: return %7 : tensor<16x8xf32>

// -----

module @overwritten_rows {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %i: tensor<16x1xi32>,
      %u: tensor<16x8xf32>) -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = "stablehlo.scatter"(%a, %i,
      %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    stablehlo.return %q : tensor<f32>
  }) : (tensor<64x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @overwritten_rows {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<16x1xi32>, %arg2: tensor<16x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %0 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %2 = stablehlo.dynamic_slice %c, %1, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %3 = stablehlo.reshape %2 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %4 = stablehlo.convert %3 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i32>) -> tensor<16x1xi32>
// CHECK-NEXT: %6 = stablehlo.subtract %arg1, %5 : tensor<16x1xi32>
// CHECK-NEXT: %7 = "stablehlo.scatter"(%arg0, %6, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK-NEXT: ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
// CHECK-NEXT: stablehlo.return %arg4 : tensor<f32>
// CHECK-NEXT: }) : (tensor<16x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: return %7 : tensor<16x8xf32>

// -----

module @sharded_columns {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}, %i: tensor<16x1xi32>,
      %u: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>})
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %0 = "stablehlo.scatter"(%a, %i,
      %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @sharded_columns {
// CHECK-NEXT: func.func @main(%arg0: tensor<64x2xf32>, %arg1: tensor<16x1xi32>, %arg2: tensor<16x2xf32>) -> tensor<64x2xf32> {
// CHECK-NEXT: %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
// CHECK-NEXT: ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
// CHECK-NEXT: %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
// CHECK-NEXT: stablehlo.return %1 : tensor<f32>
// CHECK-NEXT: }) : (tensor<64x2xf32>, tensor<16x1xi32>, tensor<16x2xf32>) -> tensor<64x2xf32>
// CHECK-NEXT: return %0 : tensor<64x2xf32>

// -----

// The updates are smaller than the result, which an all-reduce would send.
module @sharded_updates {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>},
      %i: tensor<16x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
      %u: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = "stablehlo.scatter"(%a, %i,
      %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<64x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @sharded_updates {
// CHECK-NEXT: func.func @main(%arg0: tensor<64x8xf32>, %arg1: tensor<4x1xi32>, %arg2: tensor<4x8xf32>) -> tensor<64x8xf32> {
// CHECK-NEXT{LITERAL}: %0:2 = "stablehlo.all_gather"(%arg1, %arg2) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x1xi32>, tensor<4x8xf32>) -> (tensor<16x1xi32>, tensor<16x8xf32>)
// CHECK-NEXT: %1 = "stablehlo.scatter"(%arg0, %0#0, %0#1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
// CHECK-NEXT: ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
// CHECK-NEXT: %2 = stablehlo.add %arg3, %arg4 : tensor<f32>
// CHECK-NEXT: stablehlo.return %2 : tensor<f32>
// CHECK-NEXT: }) : (tensor<64x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<64x8xf32>
// CHECK-NEXT: return %1 : tensor<64x8xf32>

// -----

module @histogram {
sdy.mesh @m = <["x"=4]>
func.func @main(%i: tensor<64x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {
  %a = stablehlo.constant dense<0.0> : tensor<8xf32>
  %u = stablehlo.constant dense<1.0> : tensor<64xf32>
  %0 = "stablehlo.scatter"(%a, %i,
      %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims =
      [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<8xf32>, tensor<64x1xi32>, tensor<64xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
}
// CHECK-LABEL: module @histogram {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x1xi32>) -> tensor<8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<16xf32>
// CHECK-NEXT: %0 = "stablehlo.scatter"(%cst, %arg0, %cst_0) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %2 : tensor<f32>
// CHECK-NEXT: }) : (tensor<8xf32>, tensor<16x1xi32>, tensor<16xf32>) -> tensor<8xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
// CHECK-NEXT: %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
// CHECK-NEXT: stablehlo.return %2 : tensor<f32>
// CHECK-NEXT: }) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: return %1 : tensor<8xf32>
