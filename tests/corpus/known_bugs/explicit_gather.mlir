// Rows of a table are taken by sharded indices, and the result is sharded along both, as explicit axes of JAX ask.
// Reported: jax#29859, jax#28542, jax#31799, jax#33787, jax#39309, jax#31918
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%table: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}]>},
    %indices: tensor<8x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) {
  %0 = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false,
      slice_sizes = array<i64: 1, 16>}> : (tensor<32x16xf32>, tensor<8x1xi32>) -> tensor<8x16xf32>
  %1 = sdy.sharding_constraint %0 <@m, [{"x"}, {"y"}]> : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
