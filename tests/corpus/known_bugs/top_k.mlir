// The largest elements along a sharded dim: each device sends its own largest.
// Seen in several partitioners.
// Sends at most 48 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<2xf32>, tensor<2xi32>) {
  %0:2 = chlo.top_k(%a, k = 2) : tensor<64xf32> -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>
}
