// Each row of a sharded batch is shuffled by its own indices, without communication.
// Reported: jax#20381
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
                %i: tensor<8x16x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}]>})
    -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1],
      operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>,
      slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xf32>, tensor<8x16x1xi32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
