// Every use of a constant expression gets a copy; scalars are shared.
// RUN: sdy-opt %s --sdy-constant-or-scalar-splitter | filecheck %s

func.func @main(%w: tensor<6x4xf32>, %s: tensor<f32>) -> (tensor<3x6xf32>, tensor<3x4xf32>, tensor<3x6xf32>) {
  %c = stablehlo.constant dense<2.0> : tensor<3x6xf32>
  %sc = stablehlo.constant dense<1.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
  %e = stablehlo.exponential %c : tensor<3x6xf32>
  %d = stablehlo.dot %e, %w : (tensor<3x6xf32>, tensor<6x4xf32>) -> tensor<3x4xf32>
  %m = stablehlo.multiply %e, %b : tensor<3x6xf32>
  %k = stablehlo.broadcast_in_dim %sc, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
  %n = stablehlo.add %b, %k : tensor<3x6xf32>
  return %m, %d, %n : tensor<3x6xf32>, tensor<3x4xf32>, tensor<3x6xf32>
}

// CHECK: module {
// CHECK-NEXT: func.func @main(%arg0: tensor<6x4xf32>, %arg1: tensor<f32>) -> (tensor<3x6xf32>, tensor<3x4xf32>, tensor<3x6xf32>) {
// CHECK-NEXT: %0 = sdy.constant dense<2.000000e+00> : tensor<3x6xf32>
// CHECK-NEXT: %1 = sdy.constant dense<2.000000e+00> : tensor<3x6xf32>
// CHECK-NEXT: %2 = sdy.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %3 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
// CHECK-NEXT: %4 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
// CHECK-NEXT: %5 = stablehlo.exponential %0 : tensor<3x6xf32>
// CHECK-NEXT: %6 = stablehlo.exponential %1 : tensor<3x6xf32>
// CHECK-NEXT: %7 = stablehlo.dot %5, %arg0 : (tensor<3x6xf32>, tensor<6x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %8 = stablehlo.multiply %6, %3 : tensor<3x6xf32>
// CHECK-NEXT: %9 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
// CHECK-NEXT: %10 = stablehlo.add %4, %9 : tensor<3x6xf32>
// CHECK-NEXT: return %8, %7, %10 : tensor<3x6xf32>, tensor<3x4xf32>, tensor<3x6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
