// A batch is split into steps: the batch dim of each step stays sharded.
// Reported: xla#13306
// Sends at most 192 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<32x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<4x8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.reshape %a : (tensor<32x8xf32>) -> tensor<4x8x8xf32>
  return %0 : tensor<4x8x8xf32>
}
