// A roll by one along a sharded dim moves one row per device.
// Reported: Reactant#1166, Reactant#1164
// Sends at most 16 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [31:32, 0:4] : (tensor<32x4xf32>) -> tensor<1x4xf32>
  %1 = stablehlo.slice %a [0:31, 0:4] : (tensor<32x4xf32>) -> tensor<31x4xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x4xf32>, tensor<31x4xf32>) -> tensor<32x4xf32>
  return %2 : tensor<32x4xf32>
}
