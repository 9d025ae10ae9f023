// Two dims are flattened; the first of them, which is not the first of the tensor, is sharded.
// Reported: pytorch#179502, pytorch#179632
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<2x4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>})
    -> (tensor<2x24xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) {
  %0 = stablehlo.reshape %a : (tensor<2x4x6xf32>) -> tensor<2x24xf32>
  return %0 : tensor<2x24xf32>
}
