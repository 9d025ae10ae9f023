// The warning about ops without a rule leaves out dead ops, which propagation erases.
// RUN: sdy-opt %s --sdy-basic-propagate -verify-diagnostics | filecheck %s

func.func @main(%arg0: tensor<f32>, %arg1: tensor<2xi64>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = stablehlo.replica_id : tensor<ui32>
  %1 = stablehlo.custom_call @unused(%arg0) : (tensor<f32>) -> tensor<f32>
  // expected-warning @+1 {{no sharding rule is known for stablehlo.rng}}
  %2 = stablehlo.rng %arg0, %arg0, %arg1, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
  // expected-warning @+1 {{no sharding rule is known for custom call @used}}
  %3 = stablehlo.custom_call @used(%2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK: func.func @main
// CHECK-NEXT: %0 = stablehlo.rng
// CHECK-NEXT: %1 = stablehlo.custom_call @used
// CHECK-NEXT: return %0, %1
