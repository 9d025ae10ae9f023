// Indices whose type cannot represent every index of the dim.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%t: tensor<256x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %b: tensor<4x1xi8>,
    %u: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}) -> (tensor<4x2xf32>, tensor<256x2xf32>) {
  %0 = "stablehlo.gather"(%t, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}>
      : (tensor<256x2xf32>, tensor<4x1xi8>) -> tensor<4x2xf32>
  %1 = "stablehlo.scatter"(%t, %b, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
^bb0(%p: tensor<f32>, %q: tensor<f32>):
%s = stablehlo.add %p, %q : tensor<f32>
stablehlo.return %s : tensor<f32>
}) : (tensor<256x2xf32>, tensor<4x1xi8>, tensor<4x2xf32>) -> tensor<256x2xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<256x2xf32>
}
