// A sort along a sharded dim.
// Seen in several partitioners.
// Sends at most 192 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>})
    -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
