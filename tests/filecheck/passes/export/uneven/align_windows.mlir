// Windows along a sharded dim get as many results as their shards of the input compute; a slice drops the new ones.
// RUN: sdy-opt %s --sdy-align-windows | filecheck %s

sdy.mesh @m = <["x"=4]>
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<2x32x3xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}]>}, %k: tensor<3x3x3xf32>,
    %c: tensor<f32>) -> (tensor<2x30x3xf32>, tensor<2x15x3xf32>, tensor<2x34x3xf32>, tensor<2x32x3xf32>) {
  // CHECK-NEXT: %[[LONGER:.*]] = stablehlo.convolution(%arg0, %arg1) {{.*}}pad = {{\[\[}}0, 2]]{{.*}} -> tensor<2x32x3xf32>
  // CHECK-NEXT: stablehlo.slice %[[LONGER]] [0:2, 0:30, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}, {}]>]>} : (tensor<2x32x3xf32>) -> tensor<2x30x3xf32>
  %0 = stablehlo.convolution(%a, %k)
      dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}, {}]>]>}
      : (tensor<2x32x3xf32>, tensor<3x3x3xf32>) -> tensor<2x30x3xf32>
  // CHECK-NEXT: %[[POOLED:.*]] = "stablehlo.reduce_window"(%arg0, %arg2) <{{.*}}padding = dense<{{\[\[}}0, 0], [0, 1], [0, 0]]>
  // CHECK:      -> tensor<2x16x3xf32>
  // CHECK-NEXT: stablehlo.slice %[[POOLED]] [0:2, 0:15, 0:3]
  %1 = "stablehlo.reduce_window"(%a, %c) <{padding = dense<0> : tensor<3x2xi64>,
      window_dimensions = array<i64: 1, 3, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %r = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}, {}]>]>}
      : (tensor<2x32x3xf32>, tensor<f32>) -> tensor<2x15x3xf32>
  // More results than elements: the input gets zeros at its end, in place of padding.
  // CHECK:      %[[INPUT:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [0, 0, 0], high = [0, 4, 0], interior = [0, 0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}, {}]>]>} : (tensor<2x32x3xf32>, tensor<f32>) -> tensor<2x36x3xf32>
  // CHECK-NEXT: %[[FULL:.*]] = stablehlo.convolution(%[[INPUT]], %arg1) {{.*}}pad = {{\[\[}}2, 0]]{{.*}} -> tensor<2x36x3xf32>
  // CHECK-NEXT: stablehlo.slice %[[FULL]] [0:2, 0:34, 0:3]
  %2 = stablehlo.convolution(%a, %k)
      dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 2]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}, {}]>]>}
      : (tensor<2x32x3xf32>, tensor<3x3x3xf32>) -> tensor<2x34x3xf32>
  // Shards compute these as they are.
  // CHECK-NEXT: stablehlo.convolution(%arg0, %arg1) {{.*}}pad = {{\[\[}}1, 1]]{{.*}} -> tensor<2x32x3xf32>
  %3 = stablehlo.convolution(%a, %k)
      dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}, {}]>]>}
      : (tensor<2x32x3xf32>, tensor<3x3x3xf32>) -> tensor<2x32x3xf32>
  return %0, %1, %2, %3 : tensor<2x30x3xf32>, tensor<2x15x3xf32>, tensor<2x34x3xf32>, tensor<2x32x3xf32>
}
