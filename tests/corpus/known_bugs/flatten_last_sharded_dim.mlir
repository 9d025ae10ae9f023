// Two dims are flattened, and the second is sharded: shards are not contiguous.
// Reported: pytorch#179632
// Sends at most 144 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<2x3x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {"x"}]>})
    -> (tensor<2x24xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.reshape %a : (tensor<2x3x8xf32>) -> tensor<2x24xf32>
  return %0 : tensor<2x24xf32>
}
