// Slices and pads.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}, %f: tensor<f32>)
    -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}, tensor<2x4xf32>,
    tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, tensor<7x4xf32>, tensor<8x4xf32>) {
  %0 = stablehlo.slice %a [1:8:2, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.slice %a [3:5, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.pad %a, %f, low = [2, 0], high = [2, 0], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<12x4xf32>
  %3 = stablehlo.slice %a [1:8, 0:4] : (tensor<8x4xf32>) -> tensor<7x4xf32>
  %4 = stablehlo.pad %a, %f, low = [1, 0], high = [-1, 0], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  return %0, %1, %2, %3, %4 : tensor<4x4xf32>, tensor<2x4xf32>, tensor<12x4xf32>, tensor<7x4xf32>, tensor<8x4xf32>
}
