// RUN: sdy-opt %s | sdy-opt - | filecheck %s
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | filecheck %s

// Matrix factorizations, Fourier transforms, sorting, batch normalization and random numbers.

// CHECK: func.func @matrices(%arg0: tensor<4x4xf32>, %arg1: tensor<4x8xcomplex<f32>>, %arg2: tensor<4x8xf32>, %arg3: tensor<4x8xi32>) {
func.func @matrices(%a: tensor<4x4xf32>, %z: tensor<4x8xcomplex<f32>>, %r: tensor<4x8xf32>, %n: tensor<4x8xi32>) {
  // CHECK-NEXT: %0 = stablehlo.cholesky %arg0 : tensor<4x4xf32>
  %upper = stablehlo.cholesky %a : tensor<4x4xf32>
  // CHECK-NEXT: %1 = stablehlo.cholesky %arg0, lower = true : tensor<4x4xf32>
  %lower = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>
  // CHECK-NEXT: %2 = "stablehlo.triangular_solve"(%arg0, %arg0) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %solution = "stablehlo.triangular_solve"(%a,
      %a) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}>
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %3 = stablehlo.fft %arg1, type = FFT, length = [8] : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
  %spectrum = stablehlo.fft %z, type = FFT, length = [8] : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
  // CHECK-NEXT: %4 = stablehlo.fft %arg2, type = RFFT, length = [4, 8] : (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>
  %half = stablehlo.fft %r, type = RFFT, length = [4, 8] : (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>
  // CHECK-NEXT: %5:2 = "stablehlo.sort"(%arg2, %arg3) <{dimension = 1 : i64, is_stable = true}> ({
  // CHECK-NEXT: ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<i32>, %arg7: tensor<i32>):
  // CHECK-NEXT: %6 = stablehlo.compare LT, %arg4, %arg5, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  // CHECK-NEXT: stablehlo.return %6 : tensor<i1>
  // CHECK-NEXT: }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
  %sorted:2 = "stablehlo.sort"(%r, %n) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a0: tensor<f32>, %a1: tensor<f32>, %b0: tensor<i32>, %b1: tensor<i32>):
    %lt = stablehlo.compare LT, %a0, %a1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
  // CHECK-NEXT: return
  return
}

// CHECK: func.func @normalization(%arg0: tensor<2x4xf32>, %arg1: tensor<4xf32>) {
func.func @normalization(%x: tensor<2x4xf32>, %v: tensor<4xf32>) {
  // CHECK-NEXT: %output, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg1) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %training:3 = "stablehlo.batch_norm_training"(%x, %v, %v) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}>
      : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK-NEXT: %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg1, %arg1, %arg1) <{epsilon = 0.000000e+00 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %inference = "stablehlo.batch_norm_inference"(%x, %v, %v, %v, %v) <{epsilon = 0.0 : f32, feature_index = 1 : i64}>
      : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %grad_operand, %grad_scale, %grad_offset = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg1, %arg1, %arg0) <{epsilon = 0.000000e+00 : f32, feature_index = 1 : i64}> : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %gradient:3 = "stablehlo.batch_norm_grad"(%x, %v, %v, %v, %x) <{epsilon = 0.0 : f32, feature_index = 1 : i64}>
      : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>)
      -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK-NEXT: %1 = stablehlo.add %batch_var, %grad_scale : tensor<4xf32>
  %used = stablehlo.add %training#2, %gradient#1 : tensor<4xf32>
  // CHECK-NEXT: return
  return
}

// CHECK: func.func @random(%arg0: tensor<f32>, %arg1: tensor<2xi64>, %arg2: tensor<2xui64>) {
func.func @random(%s: tensor<f32>, %shape: tensor<2xi64>, %state: tensor<2xui64>) {
  // CHECK-NEXT: %0 = stablehlo.rng %arg0, %arg0, %arg1, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
  %uniform = stablehlo.rng %s, %s, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
  // CHECK-NEXT: %output_state, %output = stablehlo.rng_bit_generator %arg2, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  // CHECK-NEXT: %output_state_0, %output_1 = stablehlo.rng_bit_generator %output_state, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %again, %more = stablehlo.rng_bit_generator %next, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  // CHECK-NEXT: return
  return
}
