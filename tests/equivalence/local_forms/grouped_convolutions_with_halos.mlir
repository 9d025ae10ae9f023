// Grouped convolutions with a sharded spatial dim and a sharded batch or feature dim.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%image: tensor<8x8x6x4xf32>, %kernel: tensor<3x3x4x2xf32>, %line: tensor<2x8x4xf32>, %filter: tensor<3x2x6xf32>)
    -> (tensor<4x8x6x2xf32>, tensor<2x8x6xf32>) {
  %0 = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64,
    sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}, {"x"}, {"y"}]>]>}
    : (tensor<8x8x6x4xf32>, tensor<3x3x4x2xf32>) -> tensor<4x8x6x2xf32>
  %1 = stablehlo.convolution(%line, %filter) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [1], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64,
    sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}, {"y"}]>]>}
    : (tensor<2x8x4xf32>, tensor<3x2x6xf32>) -> tensor<2x8x6xf32>
  return %0, %1 : tensor<4x8x6x2xf32>, tensor<2x8x6xf32>
}
