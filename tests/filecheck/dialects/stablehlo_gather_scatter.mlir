// RUN: sdy-opt %s | sdy-opt - | filecheck %s
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | filecheck %s

// Ops that read and write slices at indices which another tensor holds.

// CHECK: func.func @places(%arg0: tensor<4x8xf32>, %arg1: tensor<2x1xi32>, %arg2: tensor<2x8xf32>, %arg3: tensor<2xi32>, %arg4: tensor<2xi32>) {
func.func @places(%x: tensor<4x8xf32>, %rows: tensor<2x1xi32>, %upd: tensor<2x8xf32>, %sizes: tensor<2xi32>, %index: tensor<2xi32>) {
  // CHECK-NEXT: %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>
  %gather = "stablehlo.gather"(%x, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true,
      slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>
  // CHECK-NEXT: %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x8xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x8xf32>
  %dynamic = "stablehlo.dynamic_gather"(%x, %rows,
      %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x8xf32>, tensor<2x1xi32>, tensor<2xi32>)
      -> tensor<2x8xf32>
  // CHECK-NEXT: %2 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  // CHECK-NEXT: ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
  // CHECK-NEXT: stablehlo.return %arg6 : tensor<f32>
  // CHECK-NEXT: }) : (tensor<4x8xf32>, tensor<2x1xi32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %scatter = "stablehlo.scatter"(%x, %rows,
      %upd) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<2x1xi32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %3 = "stablehlo.torch_index_select"(%arg0, %arg4) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  %selected = "stablehlo.torch_index_select"(%x, %index) <{batch_dims = 0 : i64, dim = 0 : i64}>
      : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  // CHECK-NEXT: return
  return
}
