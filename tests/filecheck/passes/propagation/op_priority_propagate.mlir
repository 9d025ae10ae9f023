// Axes propagate through element-wise ops before products.
// RUN: sdy-opt %s --sdy-op-priority-propagate | filecheck %s

sdy.mesh @m = <["x"=2]>
func.func @main(%p: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}, {?}]>}, %q: tensor<16x16xf32>)
    -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"x", ?}]>}) {
  %0 = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = stablehlo.tanh %0 : tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["x"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}, {?}]>}, %arg1: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"x", ?}]>}) -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"x", ?}]>}) {
// CHECK-NEXT: %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{?}, {"x", ?}]>]>} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT: %1 = stablehlo.tanh %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{?}, {"x", ?}]>]>} : tensor<16x16xf32>
// CHECK-NEXT: return %1 : tensor<16x16xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
