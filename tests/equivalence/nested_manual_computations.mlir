// Manual computations in each other: the inner one is inlined first.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0:2 = sdy.manual_computation(%a, %a)
      in_shardings=[<@m, [{"x"}, {"y"}]>, <@m, [{"x"}, {?}]>] out_shardings=[<@m, [{"x"}, {"y"}]>, <@m, [{"x"}, {?}]>]
      manual_axes={"x"} (%b: tensor<4x4xf32>, %c: tensor<4x4xf32>) {
    %1 = sdy.manual_computation(%b)
        in_shardings=[<@m, [{}, {"y"}]>] out_shardings=[<@m, [{}, {"y"}]>] manual_axes={"y"} (%d: tensor<4x2xf32>) {
      %2 = stablehlo.tanh %d : tensor<4x2xf32>
      sdy.return %2 : tensor<4x2xf32>
    } : (tensor<4x4xf32>) -> tensor<4x4xf32>
    sdy.return %1, %c : tensor<4x4xf32>, tensor<4x4xf32>
  } : (tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  return %0#0, %0#1 : tensor<8x4xf32>, tensor<8x4xf32>
}
