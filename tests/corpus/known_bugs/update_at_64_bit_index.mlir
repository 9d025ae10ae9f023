// A slice is updated at an index of 64 bits.
// Reported: xla#24186
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
                %u: tensor<1x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>},
                %i: tensor<i64>)
    -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %zero
      : (tensor<16x4xf32>, tensor<1x4xf32>, tensor<i64>, tensor<i64>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
