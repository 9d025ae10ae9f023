// Batch normalization of a sharded batch needs no communication.
// Reported: shardy#844
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}]>},
                %s: tensor<6xf32>,
                %o: tensor<6xf32>,
                %u: tensor<6xf32>,
                %v: tensor<6xf32>)
    -> (tensor<8x4x6xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}]>}) {
  %0 = "stablehlo.batch_norm_inference"(%a, %s, %o, %u, %v) <{epsilon = 1.0e-3 : f32, feature_index = 2 : i64}>
      : (tensor<8x4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<8x4x6xf32>
  return %0 : tensor<8x4x6xf32>
}
