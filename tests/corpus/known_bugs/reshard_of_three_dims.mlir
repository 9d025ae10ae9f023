// Three axes move to other dims: each device sends its shard once, and no device gathers more.
// Reported: pytorch#164902, pytorch#169439
// Sends at most 256 bytes.
sdy.mesh @m = <["x"=2, "y"=2, "z"=2]>
func.func @main(%a: tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}, {"z"}]>})
    -> (tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {"z"}, {"x"}]>}) {
  %0 = stablehlo.negate %a : tensor<8x8x8xf32>
  return %0 : tensor<8x8x8xf32>
}
