// The gradient of an embedding is summed over the batch axis, and not over the axis of the vocabulary.
// Reported: xla#42481
// Sends at most 128 bytes.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%g: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
                %i: tensor<8x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<16x4xf32>
  %1 = "stablehlo.scatter"(%0, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x4xf32>, tensor<8x1xi32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %1 : tensor<16x4xf32>
}
