// A cumulative sum along a sharded dim sends one sum per device.
// Seen in several partitioners.
// Sends at most 24 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<64x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<64x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %zero) <{window_dimensions = array<i64: 64, 1>, padding = dense<[[63, 0], [0, 0]]>
      : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<64x2xf32>, tensor<f32>) -> tensor<64x2xf32>
  return %0 : tensor<64x2xf32>
}
