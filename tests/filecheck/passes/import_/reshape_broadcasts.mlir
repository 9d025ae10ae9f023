// RUN: sdy-opt %s --sdy-reshape-broadcasts | filecheck %s
// RUN: sdy-opt %s --sdy-propagation-pipeline=reshape-broadcasts=true | filecheck %s --check-prefix=SHARDED

sdy.mesh @m = <["x"=4]>

// A broadcast that only adds dims of size 1 becomes a reshape and keeps its sharding.
// CHECK-LABEL: func @added
// CHECK:         %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}, {}]>]>} : (tensor<8x4xi32>) -> tensor<8x4x1xi32>
func.func @added(%a: tensor<8x4xi32>) -> tensor<8x4x1xi32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}, {}]>]>}
      : (tensor<8x4xi32>) -> tensor<8x4x1xi32>
  return %0 : tensor<8x4x1xi32>
}

// The others repeat elements, exchange dims, or have no elements.
// CHECK-LABEL: func @others
// CHECK-NOT:     stablehlo.reshape
func.func @others(%a: tensor<8x1xi32>, %b: tensor<8x4xi32>, %s: tensor<i32>, %n: tensor<0xi32>)
    -> (tensor<8x2xi32>, tensor<4x8xi32>, tensor<1xi32>, tensor<0x1xi32>) {
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x2xi32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1, 0] : (tensor<8x4xi32>) -> tensor<4x8xi32>
  %2 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<1xi32>
  %3 = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<0xi32>) -> tensor<0x1xi32>
  return %0, %1, %2, %3 : tensor<8x2xi32>, tensor<4x8xi32>, tensor<1xi32>, tensor<0x1xi32>
}

// The batch of the indices reaches the rows of an embedding before features come from the weights of the next layer.
// CHECK-LABEL: func @main
// CHECK:         stablehlo.reshape
// SHARDED-LABEL: func @main
// SHARDED:         "stablehlo.gather"
// SHARDED-SAME:    {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}
func.func @main(%table: tensor<16x8xf32>, %tokens: tensor<8xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
    %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<8x8xf32> {
  %i = stablehlo.broadcast_in_dim %tokens, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
  %0 = "stablehlo.gather"(%table, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}>
      : (tensor<16x8xf32>, tensor<8x1xi32>) -> tensor<8x8xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
