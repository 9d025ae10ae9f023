// The product takes q for its rows; w moves, and the partial sums along p are reduced.
// RUN: sdy-opt %s --sdy-insert-explicit-reshards=enable-full-version=true | filecheck %s

sdy.mesh @g = <["p"=2, "q"=4, "r"=2]>
func.func @main(%x: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@g, [{"q"}, {"p"}]>},
    %w: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@g, [{"p"}, {"q"}]>})
    -> (tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@g, [{}, {"r"}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"q"}, {}]>]>} : (tensor<64x16xf32>, tensor<16x32xf32>)
      -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}
func.func @maximum(%x: tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@g, [{"p"}, {"q"}]>}) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// A return takes the result of a barrier as it is annotated. To lower programs, barriers are erased before.
func.func @barrier(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@g, [{"p"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@g, [{"q"}]>}, tensor<8xf32>) {
  %0 = sdy.propagation_barrier %x allowed_direction=BACKWARD {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"q"}]>]>} : tensor<8xf32>
  %1 = sdy.propagation_barrier %x allowed_direction=BACKWARD : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @g = <["p"=2, "q"=4, "r"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@g, [{"q"}, {"p"}]>}, %arg1: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@g, [{"p"}, {"q"}]>}) -> (tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@g, [{}, {"r"}]>}) {
// CHECK-NEXT: %0 = sdy.reshard %arg1 <@g, [{"p"}, {}]> : tensor<16x32xf32>
// CHECK-NEXT: %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"q"}, {}]>]>} : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
// CHECK-NEXT: %2 = sdy.all_reduce {"p"} %1 out_sharding=<@g, [{"q"}, {}]> : tensor<64x32xf32>
// CHECK-NEXT: %3 = sdy.reshard %2 <@g, [{}, {"r"}]> : tensor<64x32xf32>
// CHECK-NEXT: return %3 : tensor<64x32xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @maximum(%arg0: tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@g, [{"p"}, {"q"}]>}) -> tensor<8xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"p"}]>]>} : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT: %1 = sdy.all_reduce max {"q"} %0 out_sharding=<@g, [{"p"}]> : tensor<8xf32>
// CHECK-NEXT: %2 = sdy.reshard %1 <@g, [{}]> : tensor<8xf32>
// CHECK-NEXT: return %2 : tensor<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @barrier
// CHECK-NEXT: %0 = sdy.propagation_barrier %arg0
// CHECK-NEXT: %1 = sdy.propagation_barrier %arg0
// CHECK-NEXT: return %0, %1
// CHECK-NEXT: }
// CHECK-NEXT: }
