// A sharded dim is padded: only the border moves.
// Reported: Enzyme-JAX#822
// Sends at most 32 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<20x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %zero, low = [2, 0], high = [2, 0], interior = [0, 0]
      : (tensor<16x4xf32>, tensor<f32>) -> tensor<20x4xf32>
  return %0 : tensor<20x4xf32>
}
