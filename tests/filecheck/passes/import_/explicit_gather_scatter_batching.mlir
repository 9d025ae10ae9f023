// RUN: sdy-opt %s --sdy-explicit-gather-scatter-batching | filecheck %s

// CHECK-LABEL: func.func @rows_of_each_batch
// CHECK-SAME:    (%arg0: tensor<3x7x2xf32>, %arg1: tensor<3x5x1xi32>)
// CHECK-NEXT:    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2],
// CHECK-SAME:      collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0],
// CHECK-SAME:      start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 2>}> {tag = "kept"}
// CHECK-NEXT:    return %0
func.func @rows_of_each_batch(%table: tensor<3x7x2xf32>, %rows: tensor<3x5x1xi32>) -> tensor<3x5x2xf32> {
  %batch = stablehlo.iota dim = 0 : tensor<3xi32>
  %each = stablehlo.broadcast_in_dim %batch, dims = [0] : (tensor<3xi32>) -> tensor<3x5x1xi32>
  %i = stablehlo.concatenate %each, %rows, dim = 2 : (tensor<3x5x1xi32>, tensor<3x5x1xi32>) -> tensor<3x5x2xi32>
  %0 = "stablehlo.gather"(%table, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 2>, indices_are_sorted = true}> {tag = "kept"}
        : (tensor<3x7x2xf32>, tensor<3x5x2xi32>) -> tensor<3x5x2xf32>
  return %0 : tensor<3x5x2xf32>
}

// CHECK-LABEL: func.func @rows_of_the_wrong_batch
// CHECK:         stablehlo.iota
// CHECK-NOT:     batching_dims
// CHECK:         return
func.func @rows_of_the_wrong_batch(%table: tensor<3x7xf32>, %rows: tensor<3x3x1xi32>) -> tensor<3x3xf32> {
  %batch = stablehlo.iota dim = 0 : tensor<3xi32>
  %each = stablehlo.broadcast_in_dim %batch, dims = [1] : (tensor<3xi32>) -> tensor<3x3x1xi32>
  %i = stablehlo.concatenate %each, %rows, dim = 2 : (tensor<3x3x1xi32>, tensor<3x3x1xi32>) -> tensor<3x3x2xi32>
  %0 = "stablehlo.gather"(%table, %i) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1>}> : (tensor<3x7xf32>, tensor<3x3x2xi32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// CHECK-LABEL: func.func @constants_and_dead_ops
// CHECK-NEXT:    stablehlo.constant dense<2.000000e+00>
// CHECK-NEXT:    stablehlo.add
// CHECK-NEXT:    stablehlo.multiply
// CHECK-NEXT:    return
func.func @constants_and_dead_ops(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.tanh %a : tensor<2xf32>
  %1 = stablehlo.constant dense<2.0> : tensor<2xf32>
  %2 = stablehlo.add %a, %1 : tensor<2xf32>
  %3 = stablehlo.constant dense<2.0> : tensor<2xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<2xf32>
  return %4 : tensor<2xf32>
}
