// RUN: sdy-opt %s -sdy-convert-global-to-local | filecheck %s

sdy.mesh @mesh = <["x"=4]>

// One row of each neighbour; the padding is what the ends of the whole get from where no neighbour is.
// CHECK-LABEL: func.func @main(%arg0: tensor<1x8x4xf32>
// CHECK:         %[[LAST:.*]] = stablehlo.slice %arg0 [0:1, 7:8, 0:4]
// CHECK:         %[[LEFT:.*]] = "stablehlo.collective_permute"(%[[LAST]])
// CHECK-SAME{LITERAL}: dense<[[0, 1], [1, 2], [2, 3]]>
// CHECK:         %[[FIRST:.*]] = stablehlo.slice %arg0 [0:1, 0:1, 0:4]
// CHECK:         %[[RIGHT:.*]] = "stablehlo.collective_permute"(%[[FIRST]])
// CHECK-SAME{LITERAL}: dense<[[1, 0], [2, 1], [3, 2]]>
// CHECK:         %[[ALL:.*]] = stablehlo.concatenate %[[LEFT]], %arg0, %[[RIGHT]], dim = 1
// CHECK:         stablehlo.convolution(%[[ALL]], %arg1)
// CHECK-SAME:      pad = {{\[\[}}0, 0]]
// CHECK-SAME:      -> tensor<1x8x2xf32>
func.func @main(%arg0: tensor<1x32x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %arg1: tensor<3x4x2xf32>)
    -> (tensor<1x32x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64,
     sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>}
    : (tensor<1x32x4xf32>, tensor<3x4x2xf32>) -> tensor<1x32x2xf32>
  return %0 : tensor<1x32x2xf32>
}
