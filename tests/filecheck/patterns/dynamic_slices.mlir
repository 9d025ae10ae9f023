// Dynamic slices and updates read and write the shards on which the elements are.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @slice_of_an_unsharded_dim {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %i: tensor<i32>)
      -> (tensor<64x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %a, %z, %i, sizes = [64, 2] : (tensor<64x8xf32>, tensor<i32>, tensor<i32>)
      -> tensor<64x2xf32>
  return %0 : tensor<64x2xf32>
}
}
// CHECK-LABEL: module @slice_of_an_unsharded_dim {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<i32>) -> tensor<16x2xf32> {
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT: %0 = stablehlo.dynamic_slice %arg0, %c, %arg1, sizes = [16, 2] : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<16x2xf32>
// CHECK-NEXT: return %0 : tensor<16x2xf32>

// -----

module @row {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %i: tensor<i32>)
      -> (tensor<1x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %a, %i, %z, sizes = [1, 8] : (tensor<64x8xf32>, tensor<i32>, tensor<i32>)
      -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}
}
// CHECK-LABEL: module @row {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<i32>) -> tensor<1x8xf32> {
// CHECK-NEXT: %0 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<1xi32>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<63> : tensor<1xi32>
// CHECK-NEXT: %1 = stablehlo.clamp %c, %0, %c_0 : tensor<1xi32>
// CHECK-NEXT: %2 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_1 = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %c_1, %3, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %5 = stablehlo.reshape %4 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %6 = stablehlo.convert %5 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %c_2 = stablehlo.constant dense<15> : tensor<i32>
// CHECK-NEXT: %7 = stablehlo.add %6, %c_2 : tensor<i32>
// CHECK-NEXT: %8 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i32>) -> tensor<1xi32>
// CHECK-NEXT: %9 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<i32>) -> tensor<1xi32>
// CHECK-NEXT: %10 = stablehlo.subtract %1, %8 : tensor<1xi32>
// CHECK-NEXT: %11 = stablehlo.compare GE, %1, %8 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
// CHECK-NEXT: %12 = stablehlo.compare LE, %1, %9 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
// CHECK-NEXT: %13 = stablehlo.and %11, %12 : tensor<1xi1>
// CHECK-NEXT: %14 = "stablehlo.gather"(%arg0, %10) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0]>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<16x8xf32>, tensor<1xi32>) -> tensor<1x8xf32>
// CHECK-NEXT: %15 = stablehlo.reshape %13 : (tensor<1xi1>) -> tensor<i1>
// CHECK-NEXT: %16 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<i1>) -> tensor<1x8xi1>
// CHECK-NEXT: %cst = stablehlo.constant dense<-0.000000e+00> : tensor<1x8xf32>
// CHECK-NEXT: %17 = stablehlo.select %16, %14, %cst : tensor<1x8xi1>, tensor<1x8xf32>
// CHECK-NEXT{LITERAL}: %18 = "stablehlo.all_reduce"(%17) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
// CHECK-NEXT: %19 = stablehlo.add %arg2, %arg3 : tensor<f32>
// CHECK-NEXT: stablehlo.return %19 : tensor<f32>
// CHECK-NEXT: }) : (tensor<1x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: return %18 : tensor<1x8xf32>

// -----

// An expert would not clamp the indices twice.
module @some_rows {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %i: tensor<i32>)
      -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %a, %i, %z, sizes = [4, 8] : (tensor<64x8xf32>, tensor<i32>, tensor<i32>)
      -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
}
// CHECK-LABEL: module @some_rows {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<i32>) -> tensor<4x8xf32> {
// CHECK-NEXT: %c = stablehlo.constant dense<60> : tensor<i32>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT: %0 = stablehlo.clamp %c_0, %arg1, %c : tensor<i32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
// CHECK-NEXT: %2 = stablehlo.iota dim = 0 : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i64>) -> tensor<4xi64>
// CHECK-NEXT: %4 = stablehlo.add %2, %3 : tensor<4xi64>
// CHECK-NEXT: %c_1 = stablehlo.constant dense<0> : tensor<4xi64>
// CHECK-NEXT: %c_2 = stablehlo.constant dense<63> : tensor<4xi64>
// CHECK-NEXT: %5 = stablehlo.clamp %c_1, %4, %c_2 : tensor<4xi64>
// CHECK-NEXT: %6 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %7 = stablehlo.convert %6 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_3 = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %8 = stablehlo.dynamic_slice %c_3, %7, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %9 = stablehlo.reshape %8 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %10 = stablehlo.convert %9 : tensor<i64>
// CHECK-NEXT: %c_4 = stablehlo.constant dense<15> : tensor<i64>
// CHECK-NEXT: %11 = stablehlo.add %10, %c_4 : tensor<i64>
// CHECK-NEXT: %12 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i64>) -> tensor<4xi64>
// CHECK-NEXT: %13 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<i64>) -> tensor<4xi64>
// CHECK-NEXT: %14 = stablehlo.subtract %5, %12 : tensor<4xi64>
// CHECK-NEXT: %15 = stablehlo.compare GE, %5, %12 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
// CHECK-NEXT: %16 = stablehlo.compare LE, %5, %13 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
// CHECK-NEXT: %17 = stablehlo.and %15, %16 : tensor<4xi1>
// CHECK-NEXT: %18 = "stablehlo.gather"(%arg0, %14) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<16x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
// CHECK-NEXT: %19 = stablehlo.broadcast_in_dim %17, dims = [0] : (tensor<4xi1>) -> tensor<4x8xi1>
// CHECK-NEXT: %cst = stablehlo.constant dense<-0.000000e+00> : tensor<4x8xf32>
// CHECK-NEXT: %20 = stablehlo.select %19, %18, %cst : tensor<4x8xi1>, tensor<4x8xf32>
// CHECK-NEXT{LITERAL}: %21 = "stablehlo.all_reduce"(%20) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
// CHECK-NEXT: ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
// CHECK-NEXT: %22 = stablehlo.add %arg2, %arg3 : tensor<f32>
// CHECK-NEXT: stablehlo.return %22 : tensor<f32>
// CHECK-NEXT: }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %21 : tensor<4x8xf32>

// -----

module @update_of_an_unsharded_dim {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
      %u: tensor<64x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %i: tensor<i32>)
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %z, %i
      : (tensor<64x8xf32>, tensor<64x2xf32>, tensor<i32>, tensor<i32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @update_of_an_unsharded_dim {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<16x2xf32>, %arg2: tensor<i32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT: %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %c, %arg2 : (tensor<16x8xf32>, tensor<16x2xf32>, tensor<i32>, tensor<i32>) -> tensor<16x8xf32>
// CHECK-NEXT: return %0 : tensor<16x8xf32>

// -----

// The row is written in place: devices without it write the row that they have.
module @update_of_a_row {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %u: tensor<1x8xf32>,
      %i: tensor<i32>) -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %z
      : (tensor<64x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @update_of_a_row {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<1x8xf32>, %arg2: tensor<i32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<63> : tensor<i32>
// CHECK-NEXT: %0 = stablehlo.clamp %c, %arg2, %c_0 : tensor<i32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
// CHECK-NEXT: %2 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_1 = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %c_1, %3, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %5 = stablehlo.reshape %4 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %6 = stablehlo.subtract %1, %5 : tensor<i64>
// CHECK-NEXT: %c_2 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_3 = stablehlo.constant dense<15> : tensor<i64>
// CHECK-NEXT: %7 = stablehlo.clamp %c_2, %6, %c_3 : tensor<i64>
// CHECK-NEXT: %8 = stablehlo.subtract %7, %6 : tensor<i64>
// CHECK-NEXT: %c_4 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %9 = stablehlo.dynamic_slice %arg0, %7, %c_4, sizes = [1, 8] : (tensor<16x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
// CHECK-NEXT: %10 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %c_5 = stablehlo.constant dense<0> : tensor<1xi64>
// CHECK-NEXT: %11 = stablehlo.compare EQ, %10, %c_5 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1>
// CHECK-NEXT: %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<1xi1>) -> tensor<1x8xi1>
// CHECK-NEXT: %13 = stablehlo.select %12, %arg1, %9 : tensor<1x8xi1>, tensor<1x8xf32>
// CHECK-NEXT: %14 = stablehlo.dynamic_update_slice %arg0, %13, %7, %c_4 : (tensor<16x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<16x8xf32>
// CHECK-NEXT: return %14 : tensor<16x8xf32>

// -----

module @update_of_some_rows {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %u: tensor<4x8xf32>,
      %i: tensor<i32>) -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %z
      : (tensor<64x8xf32>, tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @update_of_some_rows {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<i32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<60> : tensor<i32>
// CHECK-NEXT: %0 = stablehlo.clamp %c, %arg2, %c_0 : tensor<i32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
// CHECK-NEXT: %2 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_1 = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %c_1, %3, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %5 = stablehlo.reshape %4 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %6 = stablehlo.subtract %1, %5 : tensor<i64>
// CHECK-NEXT: %c_2 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_3 = stablehlo.constant dense<12> : tensor<i64>
// CHECK-NEXT: %7 = stablehlo.clamp %c_2, %6, %c_3 : tensor<i64>
// CHECK-NEXT: %8 = stablehlo.subtract %7, %6 : tensor<i64>
// CHECK-NEXT: %c_4 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %9 = stablehlo.dynamic_slice %arg0, %7, %c_4, sizes = [4, 8] : (tensor<16x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
// CHECK-NEXT: %10 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<i64>) -> tensor<4xi64>
// CHECK-NEXT: %11 = stablehlo.iota dim = 0 : tensor<4xi64>
// CHECK-NEXT: %12 = stablehlo.add %11, %10 : tensor<4xi64>
// CHECK-NEXT: %c_5 = stablehlo.constant dense<0> : tensor<4xi64>
// CHECK-NEXT: %c_6 = stablehlo.constant dense<3> : tensor<4xi64>
// CHECK-NEXT: %13 = stablehlo.clamp %c_5, %12, %c_6 : tensor<4xi64>
// CHECK-NEXT: %14 = stablehlo.compare EQ, %12, %13 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
// CHECK-NEXT: %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<4xi1>) -> tensor<4x8xi1>
// CHECK-NEXT: %c_7 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_8 = stablehlo.constant dense<4> : tensor<i64>
// CHECK-NEXT: %16 = stablehlo.add %8, %c_8 : tensor<i64>
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %17 = stablehlo.pad %arg1, %cst, low = [4, 0], high = [4, 0], interior = [0, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<12x8xf32>
// CHECK-NEXT: %18 = stablehlo.dynamic_slice %17, %16, %c_7, sizes = [4, 8] : (tensor<12x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
// CHECK-NEXT: %19 = stablehlo.select %15, %18, %9 : tensor<4x8xi1>, tensor<4x8xf32>
// CHECK-NEXT: %20 = stablehlo.dynamic_update_slice %arg0, %19, %7, %c_4 : (tensor<16x8xf32>, tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<16x8xf32>
// CHECK-NEXT: return %20 : tensor<16x8xf32>

// -----

// An expert would write at 0 without looking up the start of the shard.
module @update_of_the_first_row {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %u: tensor<1x8xf32>)
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %z, %z
      : (tensor<64x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @update_of_the_first_row {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<1x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %c = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT: %c_0 = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT: %c_1 = stablehlo.constant dense<63> : tensor<i32>
// CHECK-NEXT: %0 = stablehlo.clamp %c_0, %c, %c_1 : tensor<i32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
// CHECK-NEXT: %2 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_2 = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %4 = stablehlo.dynamic_slice %c_2, %3, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %5 = stablehlo.reshape %4 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %6 = stablehlo.subtract %1, %5 : tensor<i64>
// CHECK-NEXT: %c_3 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %c_4 = stablehlo.constant dense<15> : tensor<i64>
// CHECK-NEXT: %7 = stablehlo.clamp %c_3, %6, %c_4 : tensor<i64>
// CHECK-NEXT: %c_5 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %8 = stablehlo.slice %arg0 [0:1, 0:8] : (tensor<16x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: %9 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %10 = stablehlo.convert %9 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c_6 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT: %11 = stablehlo.dynamic_slice %c_6, %10, sizes = [1] : (tensor<2xi1>, tensor<i64>) -> tensor<1xi1>
// CHECK-NEXT: %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<1xi1>) -> tensor<1x8xi1>
// CHECK-NEXT: %13 = stablehlo.select %12, %arg1, %8 : tensor<1x8xi1>, tensor<1x8xf32>
// CHECK-NEXT: %14 = stablehlo.dynamic_update_slice %arg0, %13, %7, %c_5 : (tensor<16x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<16x8xf32>
// CHECK-NEXT: return %14 : tensor<16x8xf32>
