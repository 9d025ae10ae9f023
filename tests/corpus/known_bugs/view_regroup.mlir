// A view regroups the factors of a sharded dim: 12 x 4 becomes 6 x 8.
// Reported: pytorch#143372, pytorch#149764, pytorch#161161, pytorch#161950, pytorch#166483
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.reshape %a : (tensor<12x4xf32>) -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}
