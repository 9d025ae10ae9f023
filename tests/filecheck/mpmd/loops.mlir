// A loop is unrolled, and its counters become those of microbatches.
// RUN: sdy-opt %s --mpmd-unroll-for-loops --mpmd-from-unroll-to-call-counter | filecheck %s

// CHECK: module {
// CHECK-NEXT:   func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m0" : <["x"=2]>>>} {
// CHECK-NEXT:     %c = stablehlo.constant {unroll_counter = 0 : ui32} dense<0> : tensor<ui32>
// CHECK-NEXT:     %0 = mpmd.call @step(%arg0, %c) {call_counter = 0 : ui32} : (tensor<4xf32>, tensor<ui32>) -> tensor<4xf32>
// CHECK-NEXT:     %c_0 = stablehlo.constant {unroll_counter = 1 : ui32} dense<1> : tensor<ui32>
// CHECK-NEXT:     %1 = mpmd.call @step(%0, %c_0) {call_counter = 1 : ui32} : (tensor<4xf32>, tensor<ui32>) -> tensor<4xf32>
// CHECK-NEXT:     return %1 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @step(%arg0: tensor<4xf32>, %arg1: tensor<ui32>) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m0" : <["x"=2]>>>} {
// CHECK-NEXT:     return %arg0 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #mpmd.topology<<"m0" : <["x"=2]>>>} {
  %0 = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%a: tensor<4xf32>, %i: tensor<ui32>) {
    %1 = mpmd.call @step(%a, %i) : (tensor<4xf32>, tensor<ui32>) -> tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @step(%a: tensor<4xf32>, %i: tensor<ui32>) -> tensor<4xf32>
    attributes {topology = #mpmd.topology<<"m0" : <["x"=2]>>>} {
  return %a : tensor<4xf32>
}
