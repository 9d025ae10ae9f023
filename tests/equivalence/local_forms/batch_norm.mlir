// Batch norm with sharded batch and feature dims.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}, %s: tensor<4xf32>,
    %o: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>}) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%a, %s, %o) <{epsilon = 0.01 : f32, feature_index = 1 : i64}>
      : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2 : tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>
}
