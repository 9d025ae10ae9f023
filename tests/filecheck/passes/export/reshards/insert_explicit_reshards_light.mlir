// Only the result of a product is worth a reshard here.
// RUN: sdy-opt %s --sdy-insert-explicit-reshards | filecheck %s

sdy.mesh @g = <["p"=2, "q"=4, "r"=2]>
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"q"}, {"p", "r"}]>},
    %w: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@g, [{"p", "r"}, {}]>}) -> tensor<32x32xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"p", "r"}, {}]>]>} : (tensor<32x64xf32>, tensor<64x32xf32>)
      -> tensor<32x32xf32>
  return %0 : tensor<32x32xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @g = <["p"=2, "q"=4, "r"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@g, [{"q"}, {"p", "r"}]>}, %arg1: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@g, [{"p", "r"}, {}]>}) -> tensor<32x32xf32> {
// CHECK-NEXT: %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"q"}, {}]>]>} : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
// CHECK-NEXT: %1 = sdy.reshard %0 <@g, [{"p", "r"}, {}]> : tensor<32x32xf32>
// CHECK-NEXT: return %1 : tensor<32x32xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
