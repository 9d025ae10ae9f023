// The same axes shard a dim in another order: each device has other rows, and one permutation moves them.
// Reported: pytorch#157585
// Sends at most 64 bytes.
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", "y"}, {}]>})
    -> (tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", "x"}, {}]>}) {
  %0 = stablehlo.negate %a : tensor<32x4xf32>
  return %0 : tensor<32x4xf32>
}
