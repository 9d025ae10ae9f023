// Optimization barriers.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}, tensor<8x4xf32>) {
  %0 = sdy.propagation_barrier %a allowed_direction=NONE : tensor<8x4xf32>
  %1 = stablehlo.tanh %0 : tensor<8x4xf32>
  %2 = sdy.propagation_barrier %a allowed_direction=FORWARD : tensor<8x4xf32>
  return %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>
}
