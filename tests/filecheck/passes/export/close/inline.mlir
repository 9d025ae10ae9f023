// Calls go, inner ones first; a recursive one stays, and so does a public function.
// RUN: sdy-opt %s -inline | filecheck %s

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @mid(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @"<lambda>"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @again(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func @mid(%p: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @"<lambda>"(%p) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @"<lambda>"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @again(%p: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @again(%p) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @"<lambda>"(%p: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4xf32>
  %unused = stablehlo.tanh %p : tensor<4xf32>
  %0 = stablehlo.multiply %p, %c : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK: module {
// CHECK-NEXT: func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %0 = stablehlo.multiply %arg0, %cst : tensor<4xf32>
// CHECK-NEXT: %1 = stablehlo.multiply %0, %cst : tensor<4xf32>
// CHECK-NEXT: %2 = stablehlo.multiply %1, %cst : tensor<4xf32>
// CHECK-NEXT: %3 = call @again(%2) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %3 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func @mid(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %cst = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %0 = stablehlo.multiply %arg0, %cst : tensor<4xf32>
// CHECK-NEXT: %1 = stablehlo.multiply %0, %cst : tensor<4xf32>
// CHECK-NEXT: return %1 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @again(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %0 = call @again(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %0 : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
