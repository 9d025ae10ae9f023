// Positions and masks are computed by each shard for its own elements.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @positions {
sdy.mesh @m = <["x"=4]>
func.func @main() -> (tensor<64xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.iota dim = 0 : tensor<64xi32>
  return %0 : tensor<64xi32>
}
}
// CHECK-LABEL: module @positions {
// CHECK-NEXT: func.func @main() -> tensor<16xi32> {
// CHECK-NEXT: %0 = stablehlo.iota dim = 0 : tensor<16xi32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.convert %4 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<16xi32>
// CHECK-NEXT: %7 = stablehlo.add %0, %6 : tensor<16xi32>
// CHECK-NEXT: return %7 : tensor<16xi32>

// -----

module @of_an_unsharded_dim {
sdy.mesh @m = <["x"=4]>
func.func @main() -> (tensor<64x8xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.iota dim = 1 : tensor<64x8xi32>
  return %0 : tensor<64x8xi32>
}
}
// CHECK-LABEL: module @of_an_unsharded_dim {
// CHECK-NEXT: func.func @main() -> tensor<16x8xi32> {
// CHECK-NEXT: %0 = stablehlo.iota dim = 1 : tensor<16x8xi32>
// CHECK-NEXT: return %0 : tensor<16x8xi32>

// -----

module @first_elements {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %n: tensor<i32>)
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<64xf32>
  %0 = stablehlo.iota dim = 0 : tensor<64xi32>
  %1 = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<i32>) -> tensor<64xi32>
  %2 = stablehlo.compare LT, %0, %1 : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
  %3 = stablehlo.select %2, %a, %z : tensor<64xi1>, tensor<64xf32>
  return %3 : tensor<64xf32>
}
}
// CHECK-LABEL: module @first_elements {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>, %arg1: tensor<i32>) -> tensor<16xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<16xf32>
// CHECK-NEXT: %0 = stablehlo.iota dim = 0 : tensor<16xi32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.convert %4 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<16xi32>
// CHECK-NEXT: %7 = stablehlo.add %0, %6 : tensor<16xi32>
// CHECK-NEXT: %8 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<16xi32>
// CHECK-NEXT: %9 = stablehlo.compare LT, %7, %8 : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
// CHECK-NEXT: %10 = stablehlo.select %9, %arg0, %cst : tensor<16xi1>, tensor<16xf32>
// CHECK-NEXT: return %10 : tensor<16xf32>

// -----

module @causal {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<64x64xf32>
  %0 = stablehlo.iota dim = 0 : tensor<64x64xi32>
  %1 = stablehlo.iota dim = 1 : tensor<64x64xi32>
  %2 = stablehlo.compare GE, %0, %1 : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
  %3 = stablehlo.select %2, %a, %z : tensor<64x64xi1>, tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}
}
// CHECK-LABEL: module @causal {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x64xf32>) -> tensor<16x64xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0.000000e+00> : tensor<16x64xf32>
// CHECK-NEXT: %0 = stablehlo.iota dim = 0 : tensor<16x64xi32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.convert %4 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<16x64xi32>
// CHECK-NEXT: %7 = stablehlo.add %0, %6 : tensor<16x64xi32>
// CHECK-NEXT: %8 = stablehlo.iota dim = 1 : tensor<16x64xi32>
// CHECK-NEXT: %9 = stablehlo.compare GE, %7, %8 : (tensor<16x64xi32>, tensor<16x64xi32>) -> tensor<16x64xi1>
// CHECK-NEXT: %10 = stablehlo.select %9, %arg0, %cst : tensor<16x64xi1>, tensor<16x64xf32>
// CHECK-NEXT: return %10 : tensor<16x64xf32>

// -----

module @identity_matrix {
sdy.mesh @m = <["x"=4]>
func.func @main() -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.iota dim = 0 : tensor<64x64xi32>
  %1 = stablehlo.iota dim = 1 : tensor<64x64xi32>
  %2 = stablehlo.compare EQ, %0, %1 : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
  %3 = stablehlo.convert %2 : (tensor<64x64xi1>) -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}
}
// CHECK-LABEL: module @identity_matrix {
// CHECK-NEXT: func.func @main() -> tensor<16x64xf32> {
// CHECK-NEXT: %0 = stablehlo.iota dim = 0 : tensor<16x64xi32>
// CHECK-NEXT: %1 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[0, 16, 32, 48]> : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.dynamic_slice %c, %2, sizes = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT: %4 = stablehlo.reshape %3 : (tensor<1xi64>) -> tensor<i64>
// CHECK-NEXT: %5 = stablehlo.convert %4 : (tensor<i64>) -> tensor<i32>
// CHECK-NEXT: %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<16x64xi32>
// CHECK-NEXT: %7 = stablehlo.add %0, %6 : tensor<16x64xi32>
// CHECK-NEXT: %8 = stablehlo.iota dim = 1 : tensor<16x64xi32>
// CHECK-NEXT: %9 = stablehlo.compare EQ, %7, %8 : (tensor<16x64xi32>, tensor<16x64xi32>) -> tensor<16x64xi1>
// CHECK-NEXT: %10 = stablehlo.convert %9 : (tensor<16x64xi1>) -> tensor<16x64xf32>
// CHECK-NEXT: return %10 : tensor<16x64xf32>

// -----

// All positions of a shard are chosen alike, so that the choice is looked up.
module @first_shard {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
      %b: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
      -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %n = stablehlo.constant dense<16> : tensor<64xi32>
  %0 = stablehlo.iota dim = 0 : tensor<64xi32>
  %1 = stablehlo.compare LT, %0, %n : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
  %2 = stablehlo.select %1, %a, %b : tensor<64xi1>, tensor<64xf32>
  return %2 : tensor<64xf32>
}
}
// CHECK-LABEL: module @first_shard {
// CHECK-NEXT: func.func @main(%arg0: tensor<16xf32>, %arg1: tensor<16xf32>) -> tensor<16xf32> {
// CHECK-NEXT: %0 = stablehlo.partition_id : tensor<ui32>
// CHECK-NEXT: %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i64>
// CHECK-NEXT: %c = stablehlo.constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT: %2 = stablehlo.dynamic_slice %c, %1, sizes = [1] : (tensor<2xi1>, tensor<i64>) -> tensor<1xi1>
// CHECK-NEXT: %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<1xi1>) -> tensor<16xi1>
// CHECK-NEXT: %4 = stablehlo.select %3, %arg0, %arg1 : tensor<16xi1>, tensor<16xf32>
// CHECK-NEXT: return %4 : tensor<16xf32>

// -----

module @by_a_table_of_rows {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
      -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %0 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<8xf32>) -> tensor<64x8xf32>
  %1 = stablehlo.multiply %a, %0 : tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}
}
// CHECK-LABEL: module @by_a_table_of_rows {
// CHECK-NEXT: func.func @main(%arg0: tensor<16x8xf32>) -> tensor<16x8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00]> : tensor<8xf32>
// CHECK-NEXT: %0 = stablehlo.broadcast_in_dim %cst, dims = [1] : (tensor<8xf32>) -> tensor<16x8xf32>
// CHECK-NEXT: %1 = stablehlo.multiply %arg0, %0 : tensor<16x8xf32>
// CHECK-NEXT: return %1 : tensor<16x8xf32>
