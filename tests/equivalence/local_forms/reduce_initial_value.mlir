// Reductions include their initial value once, not once per shard.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}, %i: tensor<f32>)
    -> (tensor<f32>, tensor<4xf32>, tensor<8xf32>, tensor<8xf32>) {
  %c = stablehlo.constant dense<3.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.reduce(%a init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = stablehlo.reduce(%a init: %i) applies stablehlo.multiply across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  return %0, %1, %2, %3 : tensor<f32>, tensor<4xf32>, tensor<8xf32>, tensor<8xf32>
}
