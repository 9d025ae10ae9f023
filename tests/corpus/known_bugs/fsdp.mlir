// A weight sharded by the batch axis is gathered; activations stay sharded by batch.
// Seen in several partitioners.
// Sends at most 768 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
                %w: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
      : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
