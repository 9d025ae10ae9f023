// Dims that an op needs whole are said to be; branches and barriers get reshards; what stays within shards is left.
// RUN: sdy-opt %s --sdy-prepare-for-shards | filecheck %s

sdy.mesh @m = <["x"=2, "y"=2]>
// CHECK: func.func @windows
func.func @windows(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}, %z: tensor<f32>) -> tensor<8x4xf32> {
  // CHECK: need_replication={i}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 8, 1>, padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {"y"}]>]>} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
// CHECK: func.func @slices
func.func @slices(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>})
    -> (tensor<4x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  // CHECK: stablehlo.slice %arg0 [0:8:2, 0:4]
  // CHECK-NOT: need_replication
  // CHECK: stablehlo.slice %arg0 [1:4:2, 0:4]
  // CHECK-SAME: need_replication={i}
  // Edges of shards are exchanged.
  // CHECK: stablehlo.slice %arg0 [1:3, 0:4]
  // CHECK-NOT: need_replication
  %0 = stablehlo.slice %a [0:8:2, 0:4] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {"y"}]>]>}
      : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.slice %a [1:4:2, 0:4] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {"y"}]>]>}
      : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.slice %a [1:3, 0:4] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {"y"}]>]>} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
// CHECK: func.func @branches
func.func @branches(%p: tensor<i1>, %a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK: %0 = "stablehlo.if"(%arg0) ({
  // CHECK-NEXT: %[[Y:.*]] = sdy.reshard %arg1 <@m, [{"y"}]> : tensor<8xf32>
  // CHECK-NEXT: stablehlo.return %[[Y]] : tensor<8xf32>
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<8xf32>
  }, {
    stablehlo.return %a : tensor<8xf32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y"}]>]>} : (tensor<i1>) -> tensor<8xf32>
  // CHECK-NOT: propagation_barrier
  // CHECK: return %0
  %1 = sdy.propagation_barrier %0 allowed_direction=NONE {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}]>]>} : tensor<8xf32>
  return %1 : tensor<8xf32>
}
