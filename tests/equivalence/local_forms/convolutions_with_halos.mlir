// Convolutions whose windows extend into the next shard exchange halos.

sdy.mesh @m = <["x"=2, "y"=2]>

func.func @main(
    %image: tensor<2x8x12x3xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {"y"}, {}]>},
    %line: tensor<2x16x3xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x", "y"}, {}]>},
    %kernel: tensor<3x5x3x4xf32>, %filter: tensor<4x3x2xf32>, %step: tensor<2x3x2xf32>)
    -> (tensor<2x8x12x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {"y"}, {}]>},
        tensor<2x8x2xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x", "y"}, {}]>},
        tensor<2x16x2xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x", "y"}, {}]>},
        tensor<2x16x2xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x", "y"}, {}]>},
        tensor<2x16x2xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x", "y"}, {}]>}) {
  // two sharded spatial dims, including the corners
  %0 = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {pad = [[1, 1], [2, 2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x8x12x3xf32>, tensor<3x5x3x4xf32>) -> tensor<2x8x12x4xf32>
  // stride 2
  %1 = stablehlo.convolution(%line, %filter) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x16x3xf32>, tensor<4x3x2xf32>) -> tensor<2x8x2xf32>
  // window dilation and a reversed kernel
  %2 = stablehlo.convolution(%line, %step) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {pad = [[0, 3]], rhs_dilate = [3], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x16x3xf32>, tensor<2x3x2xf32>) -> tensor<2x16x2xf32>
  // negative padding drops the first element: the left halo is negative
  %3 = stablehlo.convolution(%line, %step) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {pad = [[-1, 2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x16x3xf32>, tensor<2x3x2xf32>) -> tensor<2x16x2xf32>
  // the window extends beyond the next shard: all-gather
  %4 = stablehlo.convolution(%line, %step) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {pad = [[0, 7]], rhs_dilate = [7]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x16x3xf32>, tensor<2x3x2xf32>) -> tensor<2x16x2xf32>
  return %0, %1, %2, %3, %4 : tensor<2x8x12x4xf32>, tensor<2x8x2xf32>, tensor<2x16x2xf32>, tensor<2x16x2xf32>, tensor<2x16x2xf32>
}
