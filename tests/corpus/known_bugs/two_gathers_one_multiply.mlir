// Two sharded factors are multiplied before they are gathered, not after.
// Reported: tt-xla#3047
// Sends at most 384 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>},
                %b: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) {
  %0 = stablehlo.multiply %a, %b : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
