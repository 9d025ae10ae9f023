// A sum of a replicated tensor whose result is sharded is computed in parts.
// Reported: xla#5963
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>})
    -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<64x16xf32>, tensor<f32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
