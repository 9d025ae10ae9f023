// Gathers from a sharded operand.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%t: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>},
    %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}, %b: tensor<4x1xi8>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) {
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
      : (tensor<8x4xf32>, tensor<4x1xi32>) -> tensor<4x4xf32>
  %1 = "stablehlo.gather"(%t, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
      : (tensor<8x4xf32>, tensor<4x1xi8>) -> tensor<4x4xf32>
  %k = stablehlo.concatenate %i, %i, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %2 = "stablehlo.gather"(%t, %k) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1],
      start_index_map = [1, 0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}>
      : (tensor<8x4xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>
}
