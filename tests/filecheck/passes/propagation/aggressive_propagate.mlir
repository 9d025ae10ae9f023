// The larger source wins a conflict over an axis.
// RUN: sdy-opt %s --sdy-aggressive-propagate | filecheck %s

sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%p: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", "y", ?}, {?}]>},
    %q: tensor<8x128xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"x", ?}]>}) -> tensor<64x128xf32> {
  %0 = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<64x8xf32>, tensor<8x128xf32>) -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["x"=2, "y"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", "y", ?}, {?}]>}, %arg1: tensor<8x128xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"x", ?}]>}) -> (tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {"x", ?}]>}) {
// CHECK-NEXT: %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{?}, {"x", ?}]>]>} : (tensor<64x8xf32>, tensor<8x128xf32>) -> tensor<64x128xf32>
// CHECK-NEXT: return %0 : tensor<64x128xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
