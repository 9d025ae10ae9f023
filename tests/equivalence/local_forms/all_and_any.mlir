// Reductions of booleans: all and any.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xi1> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> (tensor<8xi1>, tensor<4xi1>) {
  %t = stablehlo.constant dense<true> : tensor<i1>
  %f = stablehlo.constant dense<false> : tensor<i1>
  %0 = stablehlo.reduce(%a init: %t) applies stablehlo.and across dimensions = [1] : (tensor<8x4xi1>, tensor<i1>) -> tensor<8xi1>
  %1 = stablehlo.reduce(%a init: %f) applies stablehlo.or across dimensions = [0] : (tensor<8x4xi1>, tensor<i1>) -> tensor<4xi1>
  return %0, %1 : tensor<8xi1>, tensor<4xi1>
}
