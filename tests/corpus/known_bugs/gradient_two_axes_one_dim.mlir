// The gradient of a weight is summed over a batch dim that two axes shard.
// Reported: pytorch#186282
// Sends at most 192 bytes.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", "y"}, {}]>},
                %g: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", "y"}, {}]>})
    -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %g, contracting_dims = [0] x [0]
      : (tensor<16x4xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
