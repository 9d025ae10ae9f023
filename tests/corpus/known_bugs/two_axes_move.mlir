// Axes move from two dims to a third: [y, ., x] becomes [., xy, .].
// Reported: jax#21562, xla#15207
// Sends at most 768 bytes.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}, {"x"}]>})
    -> (tensor<8x16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x", "y"}, {}]>}) {
  %0 = stablehlo.tanh %a : tensor<8x16x8xf32>
  return %0 : tensor<8x16x8xf32>
}
