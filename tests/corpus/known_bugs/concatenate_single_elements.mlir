// Tensors with one element per shard are concatenated along the sharded dim.
// Reported: jax#39301
// Sends at most 8 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
                %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
