// A view splits a sharded dim so that its first part is smaller than the axis.
// Reported: pytorch#143372, pytorch#149764, pytorch#161161, pytorch#161950, pytorch#166483
// Sends at most 144 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<48xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<2x24xf32> {
  %0 = stablehlo.reshape %a : (tensor<48xf32>) -> tensor<2x24xf32>
  %1 = stablehlo.tanh %0 : tensor<2x24xf32>
  return %1 : tensor<2x24xf32>
}
