// Unreduced values.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>},
    %b: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}]>}) -> (tensor<8x8xf32>, tensor<8x4xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}], unreduced={"y"}>]>}
      : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@m, [{"x"}, {}]> : tensor<8x8xf32>
  %2 = sdy.sharding_constraint %a <@m, [{}, {}], unreduced={"x", "y"}> : tensor<8x4xf32>
  %3 = sdy.sharding_constraint %2 <@m, [{"y"}, {}]> : tensor<8x4xf32>
  return %1, %3 : tensor<8x8xf32>, tensor<8x4xf32>
}
