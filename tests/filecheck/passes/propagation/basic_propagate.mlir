// The free dims of a product take the axes of their operands.
// RUN: sdy-opt %s --sdy-basic-propagate | filecheck %s

sdy.mesh @m = <["x"=2, "y"=4]>
func.func @main(%p: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}, %q: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %0 = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["x"=2, "y"=4]>
// CHECK-NEXT: func.func @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y"}]>}, %arg1: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@m, [{"y", ?}, {?}]>}) -> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}, {?}]>}) {
// CHECK-NEXT: %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x", ?}, {?}]>]>} : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
// CHECK-NEXT: return %0 : tensor<8x32xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
