// RUN: sdy-opt %s -sdy-merge-equal-ops | filecheck %s

sdy.mesh @m = <["x"=2]>

// Both calls are equal, and so are the reversals.
// CHECK-LABEL: func @main
// CHECK-NEXT:  %[[ROLLED:.*]] = call @roll(%arg0)
// CHECK-NEXT:  %[[REVERSED:.*]] = stablehlo.reverse %arg0
// CHECK-NEXT:  stablehlo.add %[[ROLLED]], %[[REVERSED]]
// CHECK-NEXT:  stablehlo.multiply %[[ROLLED]], %[[REVERSED]]
func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @roll(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
  %2 = call @roll(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
  %4 = stablehlo.add %0, %1 : tensor<4xf32>
  %5 = stablehlo.multiply %2, %3 : tensor<4xf32>
  return %4, %5 : tensor<4xf32>, tensor<4xf32>
}

func.func private @roll(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.slice %a [3:4] : (tensor<4xf32>) -> tensor<1xf32>
  %1 = stablehlo.slice %a [0:3] : (tensor<4xf32>) -> tensor<3xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Constants and broadcasts stay; ops that use equal ones are merged.
// CHECK-LABEL: func private @constants
// CHECK:       %[[MAXIMUM:.*]] = stablehlo.maximum
// CHECK-NEXT:  stablehlo.constant
// CHECK-NEXT:  %[[AGAIN:.*]] = stablehlo.broadcast_in_dim
// CHECK-NEXT:  return %[[MAXIMUM]], %[[MAXIMUM]], %[[AGAIN]]
func.func private @constants(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.maximum %a, %1 : tensor<4xf32>
  %3 = stablehlo.constant dense<0.0> : tensor<f32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %5 = stablehlo.maximum %a, %4 : tensor<4xf32>
  return %2, %5, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Ops with other shardings, and calls with effects, stay.
// CHECK-LABEL: func private @kept
// CHECK-NEXT:  stablehlo.negate
// CHECK-NEXT:  stablehlo.negate
// CHECK-NEXT:  call @print
// CHECK-NEXT:  call @print
func.func private @kept(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>} : tensor<4xf32>
  %1 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}]>]>} : tensor<4xf32>
  call @print(%a) : (tensor<4xf32>) -> ()
  call @print(%a) : (tensor<4xf32>) -> ()
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

func.func private @print(%a: tensor<4xf32>) {
  stablehlo.custom_call @print(%a) {has_side_effect = true} : (tensor<4xf32>) -> ()
  return
}
