// A few elements next to each other are one element of a dim of shards; of two shards, one of each.
// RUN: sdy-opt %s --sdy-look-up-slices | filecheck %s

sdy.mesh @m = <["x"=4]>

// CHECK-LABEL: func.func @one_shard
// CHECK-NEXT: %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}, {}]>]>} : (tensor<8x64xf32>) -> tensor<8x4x16xf32>
// CHECK-NEXT: %1 = stablehlo.slice %0 [0:8, 0:4, 13:16] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}, {}]>]>}
// CHECK-NEXT: %c = stablehlo.constant dense<3> : tensor<1xi64>
// CHECK-NEXT: %2 = "stablehlo.gather"(%1, %c) {{.*}}start_index_map = [1]>, {{.*}}slice_sizes = array<i64: 8, 1, 3>}> {{.*}} -> tensor<8x1x3xf32>
// CHECK-NEXT: %3 = stablehlo.reshape %2 {{.*}} -> tensor<8x3xf32>
func.func @one_shard(%a: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<8x3xf32> {
  %0 = stablehlo.slice %a [0:8, 61:64] : (tensor<8x64xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// CHECK-LABEL: func.func @two_shards
// CHECK:      stablehlo.slice {{.*}} [0:8, 0:4, 14:16]
// CHECK:      stablehlo.slice {{.*}} [0:8, 0:4, 0:1]
// CHECK:      stablehlo.concatenate {{.*}} dim = 1 : (tensor<8x2xf32>, tensor<8x1xf32>) -> tensor<8x3xf32>
func.func @two_shards(%a: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> tensor<8x3xf32> {
  %0 = stablehlo.slice %a [0:8, 14:17] : (tensor<8x64xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// At a start that is not known, each element is looked up, if there are fewer than in a shard.
// CHECK-LABEL: func.func @at_an_index
// CHECK:      %[[START:.*]] = stablehlo.clamp %{{.*}}, %arg1, %{{.*}} : tensor<i32>
// CHECK:      %[[POSITIONS:.*]] = stablehlo.add %{{.*}}, %{{.*}} : tensor<3xi64>
// CHECK-NEXT: "stablehlo.gather"(%arg0, %[[POSITIONS]]) {{.*}}offset_dims = [0], collapsed_slice_dims = [1], {{.*}} -> tensor<8x3xf32>
// CHECK:      stablehlo.dynamic_slice %{{.*}}, %arg1, %arg1, sizes = [8, 16]
func.func @at_an_index(%a: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}, %i: tensor<i32>)
    -> (tensor<8x3xf32>, tensor<8x16xf32>) {
  %0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [8, 3] : (tensor<8x64xf32>, tensor<i32>, tensor<i32>) -> tensor<8x3xf32>
  %b = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>} : tensor<8x64xf32>
  %1 = stablehlo.dynamic_slice %b, %i, %i, sizes = [8, 16] : (tensor<8x64xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
  return %0, %1 : tensor<8x3xf32>, tensor<8x16xf32>
}

// The dim that is not sharded is sliced first, then that of four elements per shard, of which two stay on each device.
// CHECK-LABEL: func.func @in_steps
// CHECK-NEXT: %0 = stablehlo.slice %arg0 [0:8, 0:16, 2:4] {sdy.sharding = #sdy.sharding_per_value<[<@n, [{"x"}, {"y"}, {}]>]>}
// CHECK-NEXT: %1 = stablehlo.slice %0 [0:8, 0:16:2, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@n, [{"x"}, {"y"}, {}]>]>}
// CHECK-NEXT: %2 = stablehlo.slice %1 [0:5, 0:8, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@n, [{}, {"y"}, {}]>]>}
sdy.mesh @n = <["x"=2, "y"=4]>
func.func @in_steps(%a: tensor<8x16x8xf32> {sdy.sharding = #sdy.sharding<@n, [{"x"}, {"y"}, {}]>}) -> tensor<5x8x2xf32> {
  %0 = stablehlo.slice %a [0:5, 0:16:2, 2:4] {sdy.sharding = #sdy.sharding_per_value<[<@n, [{}, {"y"}, {}]>]>}
    : (tensor<8x16x8xf32>) -> tensor<5x8x2xf32>
  return %0 : tensor<5x8x2xf32>
}

// A result without a sharding gets none: the axes of the operand would not divide its single element.
// CHECK-LABEL: func.func @unsharded_result
// CHECK-NEXT: %0 = stablehlo.dynamic_slice {{.*}}, sizes = [2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@m2, [{"x"}, {}]>]>}
// CHECK-NEXT: %1 = stablehlo.dynamic_slice {{.*}}, sizes = [1, 1] : (tensor<2x1xf32>
sdy.mesh @m2 = <["x"=2]>
func.func @unsharded_result(
    %a: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@m2, [{"x"}, {}]>}, %i: tensor<i32>, %j: tensor<i32>) -> tensor<1x1xf32> {
  %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [1, 1] : (tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}

// Slices that take steps, or are to be sharded, stay.
// CHECK-LABEL: func.func @unchanged
// CHECK-NEXT: stablehlo.slice
// CHECK-NEXT: stablehlo.slice
// CHECK-NEXT: return
func.func @unchanged(%a: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}]>}) -> (tensor<8x3xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.slice %a [0:8, 0:9:3] : (tensor<8x64xf32>) -> tensor<8x3xf32>
  %1 = stablehlo.slice %a [0:8, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>} : (tensor<8x64xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x3xf32>, tensor<8x8xf32>
}
