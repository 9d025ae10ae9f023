// One axis shards two dims, after a dim is split.
// Reported: tt-mlir#4478
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<2x8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x":(1)2}, {"x":(2)2}, {}]>}) {
  %0 = stablehlo.reshape %a : (tensor<16x4xf32>) -> tensor<2x8x4xf32>
  return %0 : tensor<2x8x4xf32>
}
