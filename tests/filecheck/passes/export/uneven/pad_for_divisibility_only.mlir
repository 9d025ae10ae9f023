// Padding alone keeps the program correct on global tensors; which ops run on shards is decided later.
// RUN: sdy-opt %s --sdy-pad-for-divisibility | filecheck %s

sdy.mesh @g = <["r"=4, "s"=2]>

// Windows on the padding alone are computed, and trimmed from the result.
// CHECK-LABEL: func.func @windows
// CHECK:       %[[P:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [0, 0, 0], high = [0, 1, 0]
// CHECK:       %[[X:.*]] = sdy.all_slice [{}, {"r"}, {}] %[[P]]
// CHECK-NEXT:  %[[C:.*]] = stablehlo.convolution(%[[X]], %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} {{.*}} : (tensor<1x8x1xf32>, tensor<2x1x1xf32>) -> tensor<1x4x1xf32>
// CHECK-NEXT:  %[[T:.*]] = stablehlo.slice %[[C]] [0:1, 0:3, 0:1] {{.*}} : (tensor<1x4x1xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT:  return %[[T]]
func.func @windows(%x: tensor<1x7x1xf32>, %k: tensor<2x1x1xf32>) -> tensor<1x3x1xf32> {
  %0 = sdy.all_slice [{}, {"r"}, {}] %x out_sharding=<@g, [{}, {"r"}, {}]> : tensor<1x7x1xf32>
  %1 = stablehlo.convolution(%0, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64,
      sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {}, {}]>]>} : (tensor<1x7x1xf32>, tensor<2x1x1xf32>)
      -> tensor<1x3x1xf32>
  return %1 : tensor<1x3x1xf32>
}

// A slice is only widened, though operand and result are sharded differently.
// CHECK-LABEL: func.func @sharded_differently
// CHECK:       %[[X:.*]] = sdy.all_slice [{}, {"s"}] %{{.*}} : tensor<4x8xf32>
// CHECK-NEXT:  %[[S:.*]] = stablehlo.slice %[[X]] [0:4, 0:6] {{.*}} : (tensor<4x8xf32>) -> tensor<4x6xf32>
// CHECK-NEXT:  return %[[S]]
func.func @sharded_differently(%x: tensor<4x7xf32>) -> tensor<4x6xf32> {
  %0 = sdy.all_slice [{}, {"s"}] %x out_sharding=<@g, [{}, {"s"}]> : tensor<4x7xf32>
  %1 = stablehlo.slice %0 [0:4, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"r"}, {}]>]>} : (tensor<4x7xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
