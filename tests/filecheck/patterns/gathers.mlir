// Gathers read the shards on which the elements are.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @rows_of_a_sharded_table {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %i: tensor<16x1xi32>)
      -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = "stablehlo.gather"(%a,
      %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map =
      [0], index_vector_dim = 1>, indices_are_sorted = false,
      slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xf32>, tensor<16x1xi32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
}
// CHECK-LABEL: module @rows_of_a_sharded_table {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<16x1xi32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<16x1xi32>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<63> : tensor<16x1xi32>
// CHECK-NEXT: %0 = stablehlo.clamp %c, %arg1, %c_0 : tensor<16x1xi32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_1 = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c_1, %2, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.convert %4 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %c_2 = stablehlo.constant dense<15> : tensor<i32>
// CHECK-NEXT: %6 = stablehlo.add %5, %c_2 : tensor<i32>
// CHECK-NEXT: %7 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<16x1xi32>
// CHECK-NEXT: %8 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i32>) -> tensor<16x1xi32>
// CHECK-NEXT: %9 = stablehlo.subtract %0, %7 : tensor<16x1xi32>
// CHECK-NEXT: %10 = stablehlo.compare GE, %0, %7 : (tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x1xi1>
// CHECK-NEXT: %11 = stablehlo.compare LE, %0, %8 : (tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x1xi1>
// CHECK-NEXT: %12 = stablehlo.and %10, %11 : tensor<16x1xi1>
// CHECK-NEXT: %13 = "stablehlo.gather"(%arg0, %9) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<16x8xf32>, tensor<16x1xi32>) -> tensor<16x8xf32>
// CHECK-NEXT: %14 = stablehlo.reshape %12 : (tensor<16x1xi1>) -> tensor<16xi1>
// CHECK-NEXT: %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<16xi1>) -> tensor<16x8xi1>
// CHECK-NEXT: %cst = stablehlo.constant dense<-0.000000e+00> : tensor<16x8xf32>
// CHECK-NEXT: %16 = stablehlo.select %15, %13, %cst : tensor<16x8xi1>, tensor<16x8xf32>
// CHECK-NEXT{LITERAL}: %17 = "stablehlo.all_reduce"(%16) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
// CHECK-NEXT: %18 = stablehlo.add %arg2, %arg3 : tensor<f32>
// CHECK-NEXT: stablehlo.return %18 : tensor<f32>
// CHECK-NEXT: }) : (tensor<16x8xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: return %17 : tensor<16x8xf32>

// -----

module @rows_of_sharded_columns {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}, %i: tensor<16x1xi32>)
      -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %0 = "stablehlo.gather"(%a,
      %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map =
      [0], index_vector_dim = 1>, indices_are_sorted = false,
      slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xf32>, tensor<16x1xi32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
}
// CHECK-LABEL: module @rows_of_sharded_columns {
// CHECK-NEXT: func.func @main(%arg0: tensor<64x2xf32>, %arg1: tensor<16x1xi32>) -> tensor<16x2xf32> {
// CHECK-NEXT: %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2>}> : (tensor<64x2xf32>, tensor<16x1xi32>) -> tensor<16x2xf32>
// CHECK-NEXT: return %0 : tensor<16x2xf32>

// -----

module @sharded_indices {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32>, %i: tensor<16x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = "stablehlo.gather"(%a,
      %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map =
      [0], index_vector_dim = 1>, indices_are_sorted = false,
      slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xf32>, tensor<16x1xi32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
}
// CHECK-LABEL: module @sharded_indices {
// CHECK-NEXT: func.func @main(%arg0: tensor<64x8xf32>, %arg1: tensor<4x1xi32>) -> tensor<4x8xf32> {
// CHECK-NEXT: %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %0 : tensor<4x8xf32>

// -----

module @one_of_each_row {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
      %i: tensor<64x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = "stablehlo.gather"(%a,
      %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0],
      start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false,
      slice_sizes = array<i64: 1, 1>}> : (tensor<64x8xf32>, tensor<64x1xi32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @one_of_each_row {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<16x1xi32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<16x8xf32>, tensor<16x1xi32>) -> tensor<16xf32>
// CHECK-NEXT: return %0 : tensor<16xf32>

// -----

module @one_of_each_row_by_its_number {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
      %i: tensor<64x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %n = stablehlo.iota dim = 0 : tensor<64x1xi32>
  %p = stablehlo.concatenate %n, %i, dim = 1 : (tensor<64x1xi32>, tensor<64x1xi32>) -> tensor<64x2xi32>
  %0 = "stablehlo.gather"(%a,
      %p) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1],
      index_vector_dim = 1>, indices_are_sorted = false,
      slice_sizes = array<i64: 1, 1>}> : (tensor<64x8xf32>, tensor<64x2xi32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
// CHECK-LABEL: module @one_of_each_row_by_its_number {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<16x1xi32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<16x8xf32>, tensor<16x1xi32>) -> tensor<16xf32>
// CHECK-NEXT: return %0 : tensor<16xf32>

// -----

module @one_row {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %i: tensor<1xi32>)
      -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) {
  %0 = "stablehlo.gather"(%a,
      %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map =
      [0]>, indices_are_sorted = false,
      slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xf32>, tensor<1xi32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
}
// CHECK-LABEL: module @one_row {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<1xi32>) -> tensor<8xf32> {
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<1xi32>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<63> : tensor<1xi32>
// CHECK-NEXT: %0 = stablehlo.clamp %c, %arg1, %c_0 : tensor<1xi32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_1 = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c_1, %2, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.convert %4 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %c_2 = stablehlo.constant dense<15> : tensor<i32>
// CHECK-NEXT: %6 = stablehlo.add %5, %c_2 : tensor<i32>
// CHECK-NEXT: %7 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<1xi32>
// CHECK-NEXT: %8 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i32>) -> tensor<1xi32>
// CHECK-NEXT: %9 = stablehlo.subtract %0, %7 : tensor<1xi32>
// CHECK-NEXT: %10 = stablehlo.compare GE, %0, %7 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
// CHECK-NEXT: %11 = stablehlo.compare LE, %0, %8 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
// CHECK-NEXT: %12 = stablehlo.and %10, %11 : tensor<1xi1>
// CHECK-NEXT: %13 = "stablehlo.gather"(%arg0, %9) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<16x8xf32>, tensor<1xi32>) -> tensor<8xf32>
// CHECK-NEXT: %14 = stablehlo.reshape %12 : (tensor<1xi1>) -> tensor<i1>
// CHECK-NEXT: %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<i1>) -> tensor<8xi1>
// CHECK-NEXT: %cst = stablehlo.constant dense<-0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %16 = stablehlo.select %15, %13, %cst : tensor<8xi1>, tensor<8xf32>
// CHECK-NEXT{LITERAL}: %17 = "stablehlo.all_reduce"(%16) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
// CHECK-NEXT: %18 = stablehlo.add %arg2, %arg3 : tensor<f32>
// CHECK-NEXT: stablehlo.return %18 : tensor<f32>
// CHECK-NEXT: }) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: return %17 : tensor<8xf32>
