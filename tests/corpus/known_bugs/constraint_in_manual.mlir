// A constraint along a free axis inside of a manual computation over the other axis: no device sends anything.
// Seen in several partitioners.
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x", ?}, {?}]>] out_shardings=[<@m, [{"x", ?}, {?}]>]
      manual_axes={"x"} (%b: tensor<2x16xf32>) {
    %1 = stablehlo.tanh %b : tensor<2x16xf32>
    %2 = sdy.sharding_constraint %1 <@m, [{}, {"y"}]> : tensor<2x16xf32>
    sdy.return %2 : tensor<2x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
