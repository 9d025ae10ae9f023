// RUN: sdy-run %s --args="[dense<[1, 2]> : tensor<2xi32>, dense<0.5> : tensor<f32>]" | filecheck %s
// RUN: sdy-run %s --interpret -interpreter-print-dense --args "[dense<[1, 2]> : tensor<2xi32>, dense<0.5> : tensor<f32>]" | filecheck %s --check-prefix=DENSE

func.func @main(%arg0: tensor<2xi32>, %arg1: tensor<f32>) -> (tensor<2x2xi32>, tensor<f32>, tensor<2xcomplex<f32>>) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<2xi32>
  interpreter.print %0 : tensor<2xi32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<2xi32>) -> tensor<2x2xi32>
  %2 = stablehlo.constant dense<[(1.0,0.0), (0.0,2.0)]> : tensor<2xcomplex<f32>>
  return %1, %arg1, %2 : tensor<2x2xi32>, tensor<f32>, tensor<2xcomplex<f32>>
}

// CHECK:      %0 = tensor<2xi32> {
// CHECK-NEXT:   [2, 4]
// CHECK-NEXT: }
// CHECK-NEXT: tensor<2x2xi32> {
// CHECK-NEXT:   [
// CHECK-NEXT:     [2, 4],
// CHECK-NEXT:     [2, 4]
// CHECK-NEXT:   ]
// CHECK-NEXT: }
// CHECK-NEXT: tensor<f32> {5.000000e-01}
// CHECK-NEXT: tensor<2xcomplex<f32>> {
// CHECK-NEXT{LITERAL}:   [[1.000000e+00, 0.000000e+00], [0.000000e+00, 2.000000e+00]]
// CHECK-NEXT: }

// DENSE{LITERAL}: dense<[[2, 4], [2, 4]]> : tensor<2x2xi32>
// DENSE-NEXT: dense<5.000000e-01> : tensor<f32>
// DENSE-NEXT: dense<[(1.000000e+00,0.000000e+00), (0.000000e+00,2.000000e+00)]> : tensor<2xcomplex<f32>>
