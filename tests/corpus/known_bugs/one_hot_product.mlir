// A product with one-hot rows along the sharded rows of a table.
// Seen in several partitioners.
// Sends at most 192 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%t: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
                %i: tensor<4xi32> {sdy.sharding = #sdy.sharding<@m, [{}]>})
    -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.iota dim = 1 : tensor<4x64xi32>
  %1 = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x64xi32>
  %2 = stablehlo.compare EQ, %0, %1 : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
  %3 = stablehlo.convert %2 : (tensor<4x64xi1>) -> tensor<4x64xf32>
  %4 = stablehlo.dot_general %3, %t, contracting_dims = [1] x [0]
      : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}
