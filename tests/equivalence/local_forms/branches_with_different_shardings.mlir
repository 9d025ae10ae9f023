// Branches whose results have different shardings.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%p: tensor<i1>, %k: tensor<i32>,
    %a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}, tensor<4x8xf32>) {
  %0 = "stablehlo.if"(%p) ({
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
    stablehlo.return %t : tensor<4x8xf32>
  }, {
    %r = stablehlo.reshape %a : (tensor<8x4xf32>) -> tensor<4x8xf32>
    stablehlo.return %r : tensor<4x8xf32>
  }) : (tensor<i1>) -> tensor<4x8xf32>
  %1 = "stablehlo.case"(%k) ({
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
    stablehlo.return %t : tensor<4x8xf32>
  }, {
    stablehlo.return %0 : tensor<4x8xf32>
  }) : (tensor<i32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
