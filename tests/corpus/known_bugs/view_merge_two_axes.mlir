// A view merges two sharded dims.
// Reported: pytorch#143372, pytorch#149764, pytorch#161161, pytorch#161950, pytorch#166483
// Sends at most 48 bytes.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<48xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.reshape %a : (tensor<8x6xf32>) -> tensor<48xf32>
  return %0 : tensor<48xf32>
}
