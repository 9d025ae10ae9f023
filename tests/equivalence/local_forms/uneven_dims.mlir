// Dims whose sizes are not divisible by their axes.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> (tensor<7x3xf32>, tensor<21xf32>) {
  %0 = stablehlo.slice %a [1:8, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {"y"}]>]>} : (tensor<8x4xf32>) -> tensor<7x3xf32>
  %1 = stablehlo.tanh %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}, {"x"}]>]>} : tensor<7x3xf32>
  %2 = stablehlo.reshape %1 : (tensor<7x3xf32>) -> tensor<21xf32>
  return %1, %2 : tensor<7x3xf32>, tensor<21xf32>
}
