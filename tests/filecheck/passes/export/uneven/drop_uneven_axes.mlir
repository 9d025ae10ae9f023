// Results are cut as far as they divide, by a part of an axis where that is all.
// RUN: sdy-opt %s --sdy-drop-uneven-axes | filecheck %s

sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32>) -> (tensor<7x6xf32>, tensor<8x8xf32>) {
  // CHECK: stablehlo.slice %arg0 [0:7, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"y":(1)2}]>]>}
  %0 = stablehlo.slice %a [0:7, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {"y"}]>]>} : (tensor<8x8xf32>) -> tensor<7x6xf32>
  // CHECK: stablehlo.tanh %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x", "y"}, {}]>]>}
  %1 = stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x", "y"}, {}]>]>} : tensor<8x8xf32>
  return %0, %1 : tensor<7x6xf32>, tensor<8x8xf32>
}
