// A view merges a sharded dim with the dim after it.
// Reported: pytorch#143372, pytorch#149764, pytorch#161161, pytorch#161950, pytorch#166483
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<48xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.reshape %a : (tensor<8x6xf32>) -> tensor<48xf32>
  return %0 : tensor<48xf32>
}
