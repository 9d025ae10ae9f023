// A few elements of a sharded dim are padded to one shard, of which each shard gets a copy; a mask keeps the right one.
// RUN: sdy-opt %s --sdy-place-pads | filecheck %s

sdy.mesh @m = <["x"=4]>
func.func @main(%a: tensor<8x3xf32>, %c: tensor<f32>) -> (tensor<8x64xf32>, tensor<11x3xf32>) {
  // CHECK:      %[[FILLED:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>} : (tensor<f32>) -> tensor<8x64xf32>
  // CHECK-NEXT: %[[SHARD:.*]] = stablehlo.pad %arg0, %arg1, low = [0, 13], high = [0, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}]>]>} : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x16xf32>
  // CHECK-NEXT: %[[COPIES:.*]] = stablehlo.broadcast_in_dim %[[SHARD]], dims = [0, 2] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}, {}]>]>} : (tensor<8x16xf32>) -> tensor<8x4x16xf32>
  // CHECK-NEXT: %[[LONG:.*]] = stablehlo.reshape %[[COPIES]] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>} : (tensor<8x4x16xf32>) -> tensor<8x64xf32>
  // CHECK:      stablehlo.constant dense<64> : tensor<i32>
  // CHECK:      stablehlo.constant dense<61> : tensor<i32>
  // CHECK:      %[[MASK:.*]] = stablehlo.xor
  // CHECK-NEXT: %[[PLACED:.*]] = stablehlo.select %[[MASK]], %[[LONG]], %[[FILLED]] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>}
  %0 = stablehlo.pad %a, %c, low = [0, 61], high = [0, 0],
      interior = [0, 0]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>}
      : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x64xf32>
  // A pad of an unsharded dim stays.
  // CHECK-NEXT: stablehlo.pad %arg0, %arg1, low = [1, 0], high = [2, 0], interior = [0, 0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<11x3xf32>
  %1 = stablehlo.pad %a, %c, low = [1, 0], high = [2, 0],
      interior = [0, 0]
      : (tensor<8x3xf32>, tensor<f32>) -> tensor<11x3xf32>
  return %0, %1 : tensor<8x64xf32>, tensor<11x3xf32>
}
