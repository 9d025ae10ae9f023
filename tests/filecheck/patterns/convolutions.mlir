// Convolutions along a sharded dim send the halos that their kernels read.
// RUN: sdy-opt %s --split-input-file --sdy-partition-pipeline --sdy-local-pipeline | filecheck %s

module @of_three {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}, %k: tensor<3x4x4xf32>)
      -> (tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.convolution(%a,
      %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64,
      feature_group_count = 1 : i64}
      : (tensor<8x64x4xf32>, tensor<3x4x4xf32>) -> tensor<8x64x4xf32>
  return %0 : tensor<8x64x4xf32>
}
}
// CHECK-LABEL: module @of_three {
// CHECK-NEXT: func.func @main(%arg0: tensor<8x16x4xf32>, %arg1: tensor<3x4x4xf32>) -> tensor<8x16x4xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [0:8, 15:16, 0:4] : (tensor<8x16x4xf32>) -> tensor<8x1x4xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8x1x4xf32>) -> tensor<8x1x4xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:8, 0:1, 0:4] : (tensor<8x16x4xf32>) -> tensor<8x1x4xf32>
// CHECK-NEXT{LITERAL}: %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<8x1x4xf32>) -> tensor<8x1x4xf32>
// CHECK-NEXT: %4 = stablehlo.concatenate %1, %arg0, %3, dim = 1 : (tensor<8x1x4xf32>, tensor<8x16x4xf32>, tensor<8x1x4xf32>) -> tensor<8x18x4xf32>
// CHECK-NEXT{LITERAL}: %5 = stablehlo.convolution(%4, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x18x4xf32>, tensor<3x4x4xf32>) -> tensor<8x16x4xf32>
// CHECK-NEXT: return %5 : tensor<8x16x4xf32>

// -----

module @causal {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}, %k: tensor<4x4x4xf32>)
      -> (tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.convolution(%a,
      %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[3, 0]]} {batch_group_count = 1 : i64,
      feature_group_count = 1 : i64}
      : (tensor<8x64x4xf32>, tensor<4x4x4xf32>) -> tensor<8x64x4xf32>
  return %0 : tensor<8x64x4xf32>
}
}
// CHECK-LABEL: module @causal {
// CHECK-NEXT: func.func @main(%arg0: tensor<8x16x4xf32>, %arg1: tensor<4x4x4xf32>) -> tensor<8x16x4xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [0:8, 13:16, 0:4] : (tensor<8x16x4xf32>) -> tensor<8x3x4xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8x3x4xf32>) -> tensor<8x3x4xf32>
// CHECK-NEXT: %2 = stablehlo.concatenate %1, %arg0, dim = 1 : (tensor<8x3x4xf32>, tensor<8x16x4xf32>) -> tensor<8x19x4xf32>
// CHECK-NEXT{LITERAL}: %3 = stablehlo.convolution(%2, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x19x4xf32>, tensor<4x4x4xf32>) -> tensor<8x16x4xf32>
// CHECK-NEXT: return %3 : tensor<8x16x4xf32>

// -----

module @in_steps_of_the_kernel {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}, %k: tensor<4x4x4xf32>)
      -> (tensor<8x16x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.convolution(%a,
      %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [4]} {batch_group_count = 1 : i64,
      feature_group_count = 1 : i64}
      : (tensor<8x64x4xf32>, tensor<4x4x4xf32>) -> tensor<8x16x4xf32>
  return %0 : tensor<8x16x4xf32>
}
}
// CHECK-LABEL: module @in_steps_of_the_kernel {
// CHECK-NEXT: func.func @main(%arg0: tensor<8x16x4xf32>, %arg1: tensor<4x4x4xf32>) -> tensor<8x4x4xf32> {
// CHECK-NEXT{LITERAL}: %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [4], pad = [[0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x4xf32>, tensor<4x4x4xf32>) -> tensor<8x4x4xf32>
// CHECK-NEXT: return %0 : tensor<8x4x4xf32>

// -----

module @in_steps_of_two {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}, %k: tensor<3x4x4xf32>)
      -> (tensor<8x32x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.convolution(%a,
      %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[0, 1]]} {batch_group_count =
      1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x64x4xf32>, tensor<3x4x4xf32>) -> tensor<8x32x4xf32>
  return %0 : tensor<8x32x4xf32>
}
}
// CHECK-LABEL: module @in_steps_of_two {
// CHECK-NEXT: func.func @main(%arg0: tensor<8x16x4xf32>, %arg1: tensor<3x4x4xf32>) -> tensor<8x8x4xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [0:8, 0:1, 0:4] : (tensor<8x16x4xf32>) -> tensor<8x1x4xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<8x1x4xf32>) -> tensor<8x1x4xf32>
// CHECK-NEXT: %2 = stablehlo.concatenate %arg0, %1, dim = 1 : (tensor<8x16x4xf32>, tensor<8x1x4xf32>) -> tensor<8x17x4xf32>
// CHECK-NEXT{LITERAL}: %3 = stablehlo.convolution(%2, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x17x4xf32>, tensor<3x4x4xf32>) -> tensor<8x8x4xf32>
// CHECK-NEXT: return %3 : tensor<8x8x4xf32>

// -----

module @with_a_dilated_kernel {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}, %k: tensor<3x4x4xf32>)
      -> (tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.convolution(%a,
      %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 2]], rhs_dilate = [2]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x64x4xf32>, tensor<3x4x4xf32>) -> tensor<8x64x4xf32>
  return %0 : tensor<8x64x4xf32>
}
}
// CHECK-LABEL: module @with_a_dilated_kernel {
// CHECK-NEXT: func.func @main(%arg0: tensor<8x16x4xf32>, %arg1: tensor<3x4x4xf32>) -> tensor<8x16x4xf32> {
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [0:8, 14:16, 0:4] : (tensor<8x16x4xf32>) -> tensor<8x2x4xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
// CHECK-NEXT: %2 = stablehlo.slice %arg0 [0:8, 0:2, 0:4] : (tensor<8x16x4xf32>) -> tensor<8x2x4xf32>
// CHECK-NEXT{LITERAL}: %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
// CHECK-NEXT: %4 = stablehlo.concatenate %1, %arg0, %3, dim = 1 : (tensor<8x2x4xf32>, tensor<8x16x4xf32>, tensor<8x2x4xf32>) -> tensor<8x20x4xf32>
// CHECK-NEXT{LITERAL}: %5 = stablehlo.convolution(%4, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 0]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x20x4xf32>, tensor<3x4x4xf32>) -> tensor<8x16x4xf32>
// CHECK-NEXT: return %5 : tensor<8x16x4xf32>

// -----

module @to_twice_the_size {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}, %k: tensor<2x4x4xf32>)
      -> (tensor<8x128x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.convolution(%a,
      %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]], lhs_dilate = [2]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x64x4xf32>, tensor<2x4x4xf32>) -> tensor<8x128x4xf32>
  return %0 : tensor<8x128x4xf32>
}
}
// CHECK-LABEL: module @to_twice_the_size {
// CHECK-NEXT: func.func @main(%arg0: tensor<8x16x4xf32>, %arg1: tensor<2x4x4xf32>) -> tensor<8x32x4xf32> {
// CHECK-NEXT{LITERAL}: %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x4xf32>, tensor<2x4x4xf32>) -> tensor<8x32x4xf32>
// CHECK-NEXT: return %0 : tensor<8x32x4xf32>

// -----

module @of_a_sharded_batch {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}]>}, %k: tensor<3x4x4xf32>)
      -> (tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {}]>}) {
  %0 = stablehlo.convolution(%a,
      %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64,
      feature_group_count = 1 : i64}
      : (tensor<8x64x4xf32>, tensor<3x4x4xf32>) -> tensor<8x64x4xf32>
  return %0 : tensor<8x64x4xf32>
}
}
// CHECK-LABEL: module @of_a_sharded_batch {
// CHECK-NEXT: func.func @main(%arg0: tensor<2x64x4xf32>, %arg1: tensor<3x4x4xf32>) -> tensor<2x64x4xf32> {
// CHECK-NEXT{LITERAL}: %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x64x4xf32>, tensor<3x4x4xf32>) -> tensor<2x64x4xf32>
// CHECK-NEXT: return %0 : tensor<2x64x4xf32>

// -----

// Shards of the batch are convolved: an all-reduce of the result would send half as much again.
module @of_sharded_input_features {
sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {"x"}]>},
      %k: tensor<3x4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>})
      -> (tensor<8x64x4xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}]>}) {
  %0 = stablehlo.convolution(%a,
      %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64,
      feature_group_count = 1 : i64}
      : (tensor<8x64x4xf32>, tensor<3x4x4xf32>) -> tensor<8x64x4xf32>
  return %0 : tensor<8x64x4xf32>
}
}
// CHECK-LABEL: module @of_sharded_input_features {
// CHECK-NEXT: func.func @main(%arg0: tensor<8x64x1xf32>, %arg1: tensor<3x1x4xf32>) -> tensor<8x64x4xf32> {
// CHECK-NEXT{LITERAL}: %0 = "stablehlo.all_to_all"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 2 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<8x64x1xf32>) -> tensor<2x64x4xf32>
// CHECK-NEXT{LITERAL}: %1 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<3x1x4xf32>) -> tensor<3x4x4xf32>
// CHECK-NEXT{LITERAL}: %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x64x4xf32>, tensor<3x4x4xf32>) -> tensor<2x64x4xf32>
// CHECK-NEXT{LITERAL}: %3 = "stablehlo.all_gather"(%2) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<2x64x4xf32>) -> tensor<8x64x4xf32>
// CHECK-NEXT: return %3 : tensor<8x64x4xf32>
