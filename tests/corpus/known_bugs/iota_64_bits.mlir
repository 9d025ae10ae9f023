// Each device counts from its own offset, in 64 bits.
// Reported: jax#35896
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16xi64> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
    -> (tensor<16xi64> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %large = stablehlo.constant dense<4294967296> : tensor<16xi64>
  %0 = stablehlo.iota dim = 0 : tensor<16xi64>
  %1 = stablehlo.multiply %0, %large : tensor<16xi64>
  %2 = stablehlo.add %1, %a : tensor<16xi64>
  return %2 : tensor<16xi64>
}
