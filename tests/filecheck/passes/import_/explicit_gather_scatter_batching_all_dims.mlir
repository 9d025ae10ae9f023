// RUN: sdy-opt %s '--sdy-explicit-gather-scatter-batching=all-dims=true' | filecheck %s

// Both positions become batching dims, in the order of the dims of the operand; only the ops for them are erased.
// CHECK-LABEL: func.func @two_dims
// CHECK-SAME:    (%arg0: tensor<7x3x5xf32>, %arg1: tensor<5x3x1xi32>)
// CHECK-NEXT:    %0 = stablehlo.negate %arg0
// CHECK-NEXT:    %1 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
// CHECK-SAME:      operand_batching_dims = [1, 2], start_indices_batching_dims = [1, 0],
// CHECK-SAME:      start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}>
// CHECK-NEXT:    return %1
func.func @two_dims(%table: tensor<7x3x5xf32>, %rows: tensor<5x3x1xi32>) -> tensor<5x3xf32> {
  %dead = stablehlo.negate %table : tensor<7x3x5xf32>
  %i = stablehlo.iota dim = 0 : tensor<5x3x1xi32>
  %j = stablehlo.iota dim = 0 : tensor<3xi32>
  %each = stablehlo.broadcast_in_dim %j, dims = [1] : (tensor<3xi32>) -> tensor<5x3x1xi32>
  %all = stablehlo.concatenate %i, %each, %rows, dim = 2 : (tensor<5x3x1xi32>, tensor<5x3x1xi32>, tensor<5x3x1xi32>) -> tensor<5x3x3xi32>
  %0 = "stablehlo.gather"(%table, %all) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1, 2], start_index_map = [2, 1, 0], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 1>}> : (tensor<7x3x5xf32>, tensor<5x3x3xi32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// The indices are still used.
// CHECK-LABEL: func.func @another_batching_dim
// CHECK:         %1 = stablehlo.concatenate %0, %arg1
// CHECK-NEXT:    %2 = "stablehlo.scatter"(%arg0, %arg1, %arg2)
// CHECK-SAME:      input_batching_dims = [0, 2], scatter_indices_batching_dims = [0, 1],
// CHECK-SAME:      scatter_dims_to_operand_dims = [1], index_vector_dim = 2>
// CHECK:         return %2, %1
func.func @another_batching_dim(%a: tensor<2x7x3xf32>, %k: tensor<2x3x1xi32>, %u: tensor<2x3xf32>) -> (tensor<2x7x3xf32>, tensor<2x3x2xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<2x3x1xi32>
  %all = stablehlo.concatenate %i, %k, dim = 2 : (tensor<2x3x1xi32>, tensor<2x3x1xi32>) -> tensor<2x3x2xi32>
  %0 = "stablehlo.scatter"(%a, %all, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0],
    scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<2x7x3xf32>, tensor<2x3x2xi32>, tensor<2x3xf32>) -> tensor<2x7x3xf32>
  return %0, %all : tensor<2x7x3xf32>, tensor<2x3x2xi32>
}

// Elements of the diagonal: one of the components stays, since one is needed.
// CHECK-LABEL: func.func @diagonal
// CHECK:         operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1]
func.func @diagonal(%a: tensor<4x4xf32>) -> tensor<4xf32> {
  %i = stablehlo.iota dim = 0 : tensor<4x2xi32>
  %0 = "stablehlo.gather"(%a, %i) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 1>}> : (tensor<4x4xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A part of a dim is no batch dim, and a rule of the user says what the operands are.
// CHECK-LABEL: func.func @unchanged
// CHECK-NOT:     batching_dims
// CHECK:         return
func.func @unchanged(%a: tensor<5x4xf32>, %b: tensor<4x4xf32>, %k: tensor<4x1xi32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<4x1xi32>
  %all = stablehlo.concatenate %i, %k, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %0 = "stablehlo.gather"(%a, %all) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 1>}> : (tensor<5x4xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  %1 = "stablehlo.gather"(%b, %all) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 1>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k, l])->([m]) {i=4, j=4, k=4, l=2, m=4}>}
        : (tensor<4x4xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
