// RUN: sdy-opt %s | sdy-opt - | filecheck %s
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | filecheck %s

// Ops that slice, concatenate and pad tensors.

// CHECK: func.func @slicing(%arg0: tensor<4x8xf32>, %arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<2x2xf32>, %arg4: tensor<2xi64>) {
func.func @slicing(%x: tensor<4x8xf32>, %s: tensor<f32>, %i: tensor<i32>, %u: tensor<2x2xf32>, %d: tensor<2xi64>) {
  // CHECK-NEXT: %0 = stablehlo.slice %arg0 [0:4, 2:8:2] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  %slice = stablehlo.slice %x [0:4, 2:8:2] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: %1 = stablehlo.slice %arg0 [1:3, 0:8] : (tensor<4x8xf32>) -> tensor<2x8xf32>
  %step = stablehlo.slice %x [1:3:1, 0:8] : (tensor<4x8xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: %2 = stablehlo.slice %arg1 [] : (tensor<f32>) -> tensor<f32>
  %scalar = stablehlo.slice %s [] : (tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: %3 = stablehlo.dynamic_slice %arg0, %arg2, %arg2, sizes = [2, 2] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  %dynamic = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 2] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  // CHECK-NEXT: %4 = stablehlo.dynamic_update_slice %arg0, %arg3, %arg2, %arg2 : (tensor<4x8xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  %update = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<4x8xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %5 = stablehlo.real_dynamic_slice %arg0, %arg4, %arg4, %arg4 : (tensor<4x8xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %real = stablehlo.real_dynamic_slice %x, %d, %d, %d : (tensor<4x8xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %6 = stablehlo.concatenate %arg0, dim = 0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %one = stablehlo.concatenate %x, dim = 0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %7 = stablehlo.concatenate %arg0, %0, dim = 1 : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<4x11xf32>
  %two = stablehlo.concatenate %x, %slice, dim = 1 : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<4x11xf32>
  // CHECK-NEXT: %8 = stablehlo.pad %arg0, %arg1, low = [0, 1], high = [2, -1], interior = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<6x15xf32>
  %pad = stablehlo.pad %x, %s, low = [0, 1], high = [2, -1], interior = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<6x15xf32>
  // CHECK-NEXT: %9 = stablehlo.dynamic_pad %arg0, %arg1, %arg4, %arg4, %arg4 : (tensor<4x8xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %dynamic_pad = stablehlo.dynamic_pad %x, %s, %d, %d, %d
      : (tensor<4x8xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: return
  return
}
