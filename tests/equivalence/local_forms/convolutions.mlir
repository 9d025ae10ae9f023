// Convolutions with unsharded spatial dims.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {"y"}]>},
    %k: tensor<3x4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}, {}]>},
    %g: tensor<3x2x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {"y"}]>},
    %w: tensor<4x8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}, {}]>},
    %v: tensor<8x4x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}, {}, {}]>})
    -> (tensor<4x6x8xf32>, tensor<4x6x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {"y"}]>},
    tensor<4x1x2xf32>) {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x8x4xf32>, tensor<3x4x8xf32>)
      -> tensor<4x6x8xf32>
  %1 = stablehlo.convolution(%a, %g) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<4x8x4xf32>, tensor<3x2x8xf32>)
      -> tensor<4x6x8xf32>
  %2 = stablehlo.convolution(%w, %v) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x8x4xf32>, tensor<8x4x2xf32>)
      -> tensor<4x1x2xf32>
  return %0, %1, %2 : tensor<4x6x8xf32>, tensor<4x6x8xf32>, tensor<4x1x2xf32>
}
