// One position of a cache that is sharded along positions is updated, without communication.
// Seen in several partitioners.
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%c: tensor<2x16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>},
                %k: tensor<2x1x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}]>},
                %i: tensor<i32>)
    -> (tensor<2x16x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %c, %k, %zero, %i, %zero
      : (tensor<2x16x8xf32>, tensor<2x1x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x16x8xf32>
  return %0 : tensor<2x16x8xf32>
}
