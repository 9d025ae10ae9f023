// A reversal of a sharded dim exchanges shards.
// Reported: pytorch#147724, pytorch#152249, pytorch#167917, pytorch#124990
// Sends at most 64 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
