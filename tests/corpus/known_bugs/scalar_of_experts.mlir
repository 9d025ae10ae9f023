// A scalar is computed from a tensor over experts, positions and features.
// Reported: xla PR 45717
// Sends at most 6 bytes.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {"y"}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %a, %a : tensor<4x8x16xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2]
      : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.sqrt %1 : tensor<f32>
  return %2 : tensor<f32>
}
