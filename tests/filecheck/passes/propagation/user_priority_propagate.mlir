// Dims of priority 0 propagate before those of priority 1, and keep the axes that they have taken.
// RUN: sdy-opt %s --sdy-user-priority-propagate | filecheck %s

sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%p: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}p1, {?}p2]>},
    %q: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"x"}]>},
    %r: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", ?}p1, {?}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.add %p, %q : tensor<8x8xf32>
  %1 = stablehlo.multiply %0, %r : tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["x"=2, "y"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {?}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"x"}]>}, %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", ?}, {"x", ?}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", ?}, {"x", ?}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", ?}, {"x", ?}]>}) {
// CHECK-NEXT: %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y", ?}, {"x", ?}]>]>} : tensor<8x8xf32>
// CHECK-NEXT: %1 = stablehlo.multiply %0, %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"y", ?}, {"x", ?}]>]>} : tensor<8x8xf32>
// CHECK-NEXT: return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
