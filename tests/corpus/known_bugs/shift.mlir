// A shift by one along a sharded dim moves one row per device.
// Reported: Reactant#1164
// Sends at most 16 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %zero, low = [1, 0], high = [-1, 0], interior = [0, 0]
      : (tensor<32x4xf32>, tensor<f32>) -> tensor<32x4xf32>
  return %0 : tensor<32x4xf32>
}
