// Dynamic slices and dynamic update slices.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>},
    %u: tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}]>}, %i: tensor<i32>, %w: tensor<3x2xf32>,
    %v: tensor<6x3xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %big = stablehlo.constant dense<77> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %big : (tensor<8x4xf32>, tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
  %1 = stablehlo.dynamic_update_slice %a, %w, %i, %big : (tensor<8x4xf32>, tensor<3x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
  %2 = stablehlo.dynamic_update_slice %a, %w, %z, %z : (tensor<8x4xf32>, tensor<3x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
  %3 = stablehlo.dynamic_slice %a, %i, %i, sizes = [2, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  // An update that is larger than a shard in both dims, and one element.
  %4 = stablehlo.dynamic_update_slice %a, %v, %i, %i : (tensor<8x4xf32>, tensor<6x3xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
  %e = stablehlo.slice %w [0:1, 0:1] : (tensor<3x2xf32>) -> tensor<1x1xf32>
  %5 = stablehlo.dynamic_update_slice %a, %e, %i, %i : (tensor<8x4xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
