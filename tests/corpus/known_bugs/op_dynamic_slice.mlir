// A slice at a start that is known only at run time, along a sharded dim.
// Reported: pytorch#147724, pytorch#152249, pytorch#167917, pytorch#124990
// Sends at most 72 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %i: tensor<i32>)
    -> tensor<2x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %a, %i, %zero, sizes = [2, 4]
      : (tensor<16x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
