// RUN: sdy-opt %s | sdy-opt - | filecheck %s
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | filecheck %s

// Constants, and ops that rearrange tensors.

// CHECK: func.func @constants() {
func.func @constants() {
  // CHECK-NEXT: %cst = stablehlo.constant dense<[1.000000e+00, -0.000000e+00, 0x7FC00000, 0xFF800000, 3.14159274, 1.401300e-45]> : tensor<6xf32>
  %f32 = stablehlo.constant dense<[1.0, -0.0, 0x7FC00000, 0xFF800000, 3.14159274, 1.0e-45]> : tensor<6xf32>
  // CHECK-NEXT{LITERAL}: %c = stablehlo.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi32>
  %i32 = stablehlo.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi32>
  // CHECK-NEXT: %c_0 = stablehlo.constant dense<7> : tensor<2x2xi64>
  %splat = stablehlo.constant dense<[[7, 7], [7, 7]]> : tensor<2x2xi64>
  // CHECK-NEXT: %c_1 = stablehlo.constant {note = "kept"} dense<[true, false]> : tensor<2xi1>
  %i1 = stablehlo.constant {note = "kept"} dense<[true, false]> : tensor<2xi1>
  // CHECK-NEXT: %c_2 = stablehlo.constant dense<255> : tensor<ui8>
  %ui8 = stablehlo.constant dense<255> : tensor<ui8>
  // CHECK-NEXT: %c_3 = stablehlo.constant dense<-56> : tensor<2xi8>
  %i8 = stablehlo.constant dense<[200, -56]> : tensor<2xi8>
  // CHECK-NEXT: %c_4 = stablehlo.constant dense<[-8, 7, -1]> : tensor<3xi4>
  %i4 = stablehlo.constant dense<[-8, 7, 15]> : tensor<3xi4>
  // CHECK-NEXT: %cst_5 = stablehlo.constant dense<1.101560e+00> : tensor<bf16>
  %bf16 = stablehlo.constant dense<1.1> : tensor<bf16>
  // CHECK-NEXT: %cst_6 = stablehlo.constant dense<[9.997550e-02, 6.550400e+04]> : tensor<2xf16>
  %f16 = stablehlo.constant dense<[0.1, 65504.0]> : tensor<2xf16>
  // CHECK-NEXT: %cst_7 = stablehlo.constant dense<[1.000000e-01, 1.2345678901234567, 0x4170000010000000]> : tensor<3xf64>
  %f64 = stablehlo.constant dense<[0.1, 1.2345678901234567, 16777217.0]> : tensor<3xf64>
  // CHECK-NEXT: %cst_8 = stablehlo.constant dense<1.015630e-01> : tensor<f8E4M3FN>
  %f8 = stablehlo.constant dense<0.1> : tensor<f8E4M3FN>
  // CHECK-NEXT: %cst_9 = stablehlo.constant dense<[(1.000000e+00,2.000000e+00), (0x7F800000,-5.000000e-01)]> : tensor<2xcomplex<f32>>
  %complex = stablehlo.constant dense<[(1.0, 2.0), (0x7F800000, -0.5)]> : tensor<2xcomplex<f32>>
  // CHECK-NEXT: %cst_10 = stablehlo.constant dense<> : tensor<0x3xf32>
  %empty = stablehlo.constant dense<> : tensor<0x3xf32>
  // CHECK-NEXT: %cst_11 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %hex = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  // CHECK-NEXT: return
  return
}

// CHECK: func.func @makers(%arg0: tensor<f32>, %arg1: tensor<2xi64>, %arg2: tensor<4x8xf32>, %arg3: tensor<i32>) {
func.func @makers(%s: tensor<f32>, %shape: tensor<2xi64>, %x: tensor<4x8xf32>, %n: tensor<i32>) {
  // CHECK-NEXT: %0 = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %iota = stablehlo.iota dim = 1 : tensor<4x8xi32>
  // CHECK-NEXT: %1 = stablehlo.dynamic_iota %arg1, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi32>
  %dynamic_iota = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi32>
  // CHECK-NEXT: %2 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  %everywhere = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %3 = stablehlo.broadcast_in_dim %arg2, dims = [1, 2] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
  %moved = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
  // CHECK-NEXT: %4 = stablehlo.dynamic_broadcast_in_dim %arg2, %arg1, dims = [0, 1] : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %unknown = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [0, 1] : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %5 = stablehlo.dynamic_broadcast_in_dim %arg2, %arg1, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>} : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %known = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>}
      : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %6 = stablehlo.broadcast %arg0, sizes = [2, 3] : (tensor<f32>) -> tensor<2x3xf32>
  %front = stablehlo.broadcast %s, sizes = [2, 3] : (tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %7 = stablehlo.reshape %arg2 : (tensor<4x8xf32>) -> tensor<2x16xf32>
  %reshape = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<2x16xf32>
  // CHECK-NEXT: %8 = stablehlo.dynamic_reshape %arg2, %arg1 : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %dynamic_reshape = stablehlo.dynamic_reshape %x, %shape : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %9 = stablehlo.transpose %arg2, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %transpose = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %10 = stablehlo.reverse %arg2, dims = [0, 1] : tensor<4x8xf32>
  %reverse = stablehlo.reverse %x, dims = [0, 1] : tensor<4x8xf32>
  // CHECK-NEXT: %11 = stablehlo.bitcast_convert %arg2 : (tensor<4x8xf32>) -> tensor<4x8xi32>
  %bits = stablehlo.bitcast_convert %x : (tensor<4x8xf32>) -> tensor<4x8xi32>
  // CHECK-NEXT: %12 = stablehlo.bitcast_convert %arg2 : (tensor<4x8xf32>) -> tensor<4x8x4xi8>
  %bytes = stablehlo.bitcast_convert %x : (tensor<4x8xf32>) -> tensor<4x8x4xi8>
  // CHECK-NEXT: %13 = stablehlo.get_dimension_size %arg2, dim = 1 : (tensor<4x8xf32>) -> tensor<i32>
  %size = stablehlo.get_dimension_size %x, dim = 1 : (tensor<4x8xf32>) -> tensor<i32>
  // CHECK-NEXT: %14 = stablehlo.set_dimension_size %arg2, %arg3, dim = 1 : (tensor<4x8xf32>, tensor<i32>) -> tensor<4x?xf32, #stablehlo.bounds<?, 8>>
  %bounded = stablehlo.set_dimension_size %x, %n, dim = 1 : (tensor<4x8xf32>, tensor<i32>) -> tensor<4x?xf32, #stablehlo.bounds<?, 8>>
  // CHECK-NEXT: return
  return
}
