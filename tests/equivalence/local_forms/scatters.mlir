// Scatters into a sharded input.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%t: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
    %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>},
    %u: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>})
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
^bb0(%p: tensor<f32>, %q: tensor<f32>):
%s = stablehlo.add %p, %q : tensor<f32>
stablehlo.return %s : tensor<f32>
}) : (tensor<8x4xf32>, tensor<4x1xi32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
^bb0(%p: tensor<f32>, %q: tensor<f32>):
%s = stablehlo.maximum %p, %q : tensor<f32>
stablehlo.return %s : tensor<f32>
}) : (tensor<8x4xf32>, tensor<4x1xi32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
^bb0(%p: tensor<f32>, %q: tensor<f32>):
%s = stablehlo.multiply %p, %q : tensor<f32>
stablehlo.return %s : tensor<f32>
}) : (tensor<8x4xf32>, tensor<4x1xi32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %0, %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
