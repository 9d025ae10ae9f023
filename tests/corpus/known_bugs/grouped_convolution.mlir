// A convolution with as many groups as devices needs no communication.
// Reported: xla#47945
// Sends at most 0 bytes.
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<2x8x8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>},
                %k: tensor<3x3x4x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>})
    -> (tensor<2x6x6x16xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x"}]>}) {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 4 : i64}
      : (tensor<2x8x8x16xf32>, tensor<3x3x4x16xf32>) -> tensor<2x6x6x16xf32>
  return %0 : tensor<2x6x6x16xf32>
}
