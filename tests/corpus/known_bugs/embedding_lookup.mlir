// A lookup in a table that is sharded by rows sums the rows found, and does not gather the table.
// Seen in several partitioners.
// Sends at most 192 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%t: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
                %i: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>})
    -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = "stablehlo.gather"(%t, %i) <
      {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}>
      : (tensor<64x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
