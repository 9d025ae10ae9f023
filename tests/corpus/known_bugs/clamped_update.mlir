// An update of a slice whose start is clamped is written where it still fits.
// Reported: xla#49118
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
                %u: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>},
                %i: tensor<i32>)
    -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %far = stablehlo.constant dense<100> : tensor<i32>
  %start = stablehlo.add %i, %far : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %start : (tensor<16xf32>, tensor<4xf32>, tensor<i32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
