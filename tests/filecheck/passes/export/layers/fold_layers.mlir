// RUN: sdy-opt %s -split-input-file -sdy-fold-layers='least-ops=3 least-saved=6' | filecheck %s
// RUN: sdy-opt %s -split-input-file -sdy-fold-layers='least-ops=3 least-saved=6' -sdy-unfold-layers | filecheck %s --check-prefix=BACK

sdy.mesh @m = <["x"=2]>

// Weights and what comes from the layer before are arguments.
// CHECK-LABEL: func @main
// CHECK-NEXT:    %[[ONE:.*]] = call @layer(%arg0, %arg1) {sdy.locations = [{{.*}}], sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>}
// CHECK-NEXT:    %[[TWO:.*]] = call @layer(%[[ONE]], %arg2)
// CHECK-NEXT:    %[[THREE:.*]] = call @layer(%[[TWO]], %arg3)
// CHECK-NEXT:    %[[FOUR:.*]] = call @layer(%[[THREE]], %arg4)
// CHECK-NEXT:    return %[[FOUR]]
// CHECK:       func private @layer(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %arg1: tensor<4x4xf32>)
// CHECK-SAME:      -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>})
// CHECK-NEXT:    %[[DOT:.*]] = stablehlo.dot_general %arg0, %arg1
// CHECK-NEXT:    %[[TANH:.*]] = stablehlo.tanh %[[DOT]]
// CHECK-NEXT:    %[[SUM:.*]] = stablehlo.add %[[TANH]], %[[DOT]]
// CHECK-NEXT:    return %[[SUM]]
// BACK-LABEL:  func @main
// BACK-COUNT-4:  stablehlo.dot_general
// BACK:          return
// BACK-NOT:    layer
func.func @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>}, %a: tensor<4x4xf32>,
                %b: tensor<4x4xf32>, %c: tensor<4x4xf32>, %d: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<4x4xf32>, tensor<4x4xf32>)
      -> tensor<4x4xf32>
  %1 = stablehlo.tanh %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<4x4xf32>
  %2 = stablehlo.add %1, %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<4x4xf32>
  %3 = stablehlo.dot_general %2, %b, contracting_dims = [1] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<4x4xf32>, tensor<4x4xf32>)
      -> tensor<4x4xf32>
  %4 = stablehlo.tanh %3 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<4x4xf32>
  %5 = stablehlo.add %4, %3 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<4x4xf32>
  %6 = stablehlo.dot_general %5, %c, contracting_dims = [1] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<4x4xf32>, tensor<4x4xf32>)
      -> tensor<4x4xf32>
  %7 = stablehlo.tanh %6 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<4x4xf32>
  %8 = stablehlo.add %7, %6 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<4x4xf32>
  %9 = stablehlo.dot_general %8, %d, contracting_dims = [1] x [0]
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : (tensor<4x4xf32>, tensor<4x4xf32>)
      -> tensor<4x4xf32>
  %10 = stablehlo.tanh %9 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<4x4xf32>
  %11 = stablehlo.add %10, %9 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<4x4xf32>
  return %11 : tensor<4x4xf32>
}

// -----

sdy.mesh @m = <["x"=2]>

// One is sharded otherwise, or uses something else of its own: nothing repeats three times.
// CHECK-LABEL: func @main
// CHECK-NOT:     call
// BACK-LABEL:  func @main
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.negate %x : tensor<4x4xf32>
  %1 = stablehlo.tanh %0 : tensor<4x4xf32>
  %2 = stablehlo.add %1, %0 : tensor<4x4xf32>
  %3 = stablehlo.negate %2 : tensor<4x4xf32>
  %4 = stablehlo.tanh %3 : tensor<4x4xf32>
  %5 = stablehlo.add %4, %4 : tensor<4x4xf32>
  %6 = stablehlo.negate %5 : tensor<4x4xf32>
  %7 = stablehlo.tanh %6 : tensor<4x4xf32>
  %8 = stablehlo.add %7, %6 : tensor<4x4xf32>
  %9 = stablehlo.negate %8 : tensor<4x4xf32>
  %10 = stablehlo.tanh %9 : tensor<4x4xf32>
  %11 = stablehlo.add %10, %9 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}]>]>} : tensor<4x4xf32>
  return %11 : tensor<4x4xf32>
}
