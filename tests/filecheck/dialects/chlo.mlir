// RUN: sdy-opt %s | sdy-opt - | filecheck %s
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | filecheck %s

// Every op of CHLO.

// CHECK: func.func @elementwise(%arg0: tensor<4xf32>, %arg1: tensor<4xcomplex<f32>>, %arg2: tensor<4xi32>) {
func.func @elementwise(%x: tensor<4xf32>, %z: tensor<4xcomplex<f32>>, %n: tensor<4xi32>) {
  // CHECK-NEXT: %0 = chlo.acos %arg0 : tensor<4xf32> -> tensor<4xf32>
  %acos = chlo.acos %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %1 = chlo.acosh %arg0 : tensor<4xf32> -> tensor<4xf32>
  %acosh = chlo.acosh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %2 = chlo.asin %arg0 : tensor<4xf32> -> tensor<4xf32>
  %asin = chlo.asin %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %3 = chlo.asinh %arg0 : tensor<4xf32> -> tensor<4xf32>
  %asinh = chlo.asinh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %4 = chlo.atan %arg0 : tensor<4xf32> -> tensor<4xf32>
  %atan = chlo.atan %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %5 = chlo.atanh %arg0 : tensor<4xf32> -> tensor<4xf32>
  %atanh = chlo.atanh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %6 = chlo.bessel_i1e %arg0 : tensor<4xf32> -> tensor<4xf32>
  %bessel = chlo.bessel_i1e %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %7 = chlo.conj %arg1 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  %conj = chlo.conj %z : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  // CHECK-NEXT: %8 = chlo.cosh %arg0 : tensor<4xf32> -> tensor<4xf32>
  %cosh = chlo.cosh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %9 = chlo.digamma %arg0 : tensor<4xf32> -> tensor<4xf32>
  %digamma = chlo.digamma %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %10 = chlo.erf %arg0 : tensor<4xf32> -> tensor<4xf32>
  %erf = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %11 = chlo.erf_inv %arg0 {note} : tensor<4xf32> -> tensor<4xf32>
  %erf_inv = chlo.erf_inv %x {note} : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %12 = chlo.erfc %arg0 : tensor<4xf32> -> tensor<4xf32>
  %erfc = chlo.erfc %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %13 = chlo.is_inf %arg0 : tensor<4xf32> -> tensor<4xi1>
  %inf = chlo.is_inf %x : tensor<4xf32> -> tensor<4xi1>
  // CHECK-NEXT: %14 = chlo.is_neg_inf %arg0 : tensor<4xf32> -> tensor<4xi1>
  %neg_inf = chlo.is_neg_inf %x : tensor<4xf32> -> tensor<4xi1>
  // CHECK-NEXT: %15 = chlo.is_pos_inf %arg0 : tensor<4xf32> -> tensor<4xi1>
  %pos_inf = chlo.is_pos_inf %x : tensor<4xf32> -> tensor<4xi1>
  // CHECK-NEXT: %16 = chlo.lgamma %arg0 : tensor<4xf32> -> tensor<4xf32>
  %lgamma = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %17 = chlo.sinh %arg0 : tensor<4xf32> -> tensor<4xf32>
  %sinh = chlo.sinh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %18 = chlo.square %arg0 : tensor<4xf32> -> tensor<4xf32>
  %square = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %19 = chlo.tan %arg0 : tensor<4xf32> -> tensor<4xf32>
  %tan = chlo.tan %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %20 = chlo._asin_acos_kernel %arg1 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  %kernel = chlo._asin_acos_kernel %z : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  // CHECK-NEXT: %21 = chlo.mulhi %arg2, %arg2 : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  %mulhi = chlo.mulhi %n, %n : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  // CHECK-NEXT: %22 = chlo.next_after %arg0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %next_after = chlo.next_after %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %23 = chlo.polygamma %arg0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %polygamma = chlo.polygamma %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %24 = chlo.zeta %arg0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %zeta = chlo.zeta %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: return
  return
}

// CHECK: func.func @broadcasting(%arg0: tensor<2x4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xi32>, %arg3: tensor<4xi1>) {
func.func @broadcasting(%x: tensor<2x4xf32>, %y: tensor<4xf32>, %n: tensor<4xi32>, %p: tensor<4xi1>) {
  // CHECK-NEXT: %0 = chlo.broadcast_add %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %add = chlo.broadcast_add %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %1 = chlo.broadcast_add %arg0, %arg1 {broadcast_dimensions = array<i64: 1>} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %dims = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 1>} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %2 = chlo.broadcast_and %arg2, %arg2 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %and = chlo.broadcast_and %n, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NEXT: %3 = chlo.broadcast_atan2 %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %atan2 = chlo.broadcast_atan2 %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %4 = chlo.broadcast_compare %arg0, %arg1 {compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction EQ>} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xi1>
  %compare = chlo.broadcast_compare %x, %y
      {compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction EQ>}
      : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xi1>
  // CHECK-NEXT: %5 = chlo.broadcast_complex %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xcomplex<f32>>
  %complex = chlo.broadcast_complex %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xcomplex<f32>>
  // CHECK-NEXT: %6 = chlo.broadcast_divide %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %divide = chlo.broadcast_divide %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %7 = chlo.broadcast_maximum %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %maximum = chlo.broadcast_maximum %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %8 = chlo.broadcast_minimum %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %minimum = chlo.broadcast_minimum %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %9 = chlo.broadcast_multiply %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %multiply = chlo.broadcast_multiply %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %10 = chlo.broadcast_next_after %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %next_after = chlo.broadcast_next_after %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %11 = chlo.broadcast_or %arg2, %arg2 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %or = chlo.broadcast_or %n, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NEXT: %12 = chlo.broadcast_polygamma %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %polygamma = chlo.broadcast_polygamma %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %13 = chlo.broadcast_power %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %power = chlo.broadcast_power %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %14 = chlo.broadcast_remainder %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %remainder = chlo.broadcast_remainder %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %15 = chlo.broadcast_select %arg3, %arg0, %arg1 : (tensor<4xi1>, tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %select = chlo.broadcast_select %p, %x, %y : (tensor<4xi1>, tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %16 = chlo.broadcast_shift_left %arg2, %arg2 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %left = chlo.broadcast_shift_left %n, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NEXT: %17 = chlo.broadcast_shift_right_arithmetic %arg2, %arg2 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %arithmetic = chlo.broadcast_shift_right_arithmetic %n, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NEXT: %18 = chlo.broadcast_shift_right_logical %arg2, %arg2 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %logical = chlo.broadcast_shift_right_logical %n, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NEXT: %19 = chlo.broadcast_subtract %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %subtract = chlo.broadcast_subtract %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %20 = chlo.broadcast_xor %arg2, %arg2 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %xor = chlo.broadcast_xor %n, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK-NEXT: %21 = chlo.broadcast_zeta %arg0, %arg1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %zeta = chlo.broadcast_zeta %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: return
  return
}

// CHECK: func.func @structured(%arg0: tensor<4x8xf32>, %arg1: tensor<2x8x5xf32>, %arg2: tensor<2xi64>, %arg3: tensor<8xf32>) {
func.func @structured(%x: tensor<4x8xf32>, %g: tensor<2x8x5xf32>, %sizes: tensor<2xi64>, %init: tensor<8xf32>) {
  // CHECK-NEXT: %0 = chlo.constant dense<1.000000e+00> : tensor<4xf32>
  %constant = chlo.constant dense<1.0> : tensor<4xf32>
  // CHECK-NEXT: %1 = "chlo.constant_like"(%arg0) <{value = 1.000000e+00 : f32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %like = "chlo.constant_like"(%x) <{value = 1.0 : f32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %values, %indices = chlo.top_k(%arg0, k = 3) : tensor<4x8xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
  %top:2 = chlo.top_k(%x, k = 3) : tensor<4x8xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
  // CHECK-NEXT: %2 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGH>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<2x8x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
  %ragged = "chlo.ragged_dot"(%x, %g, %sizes) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGH>],
      ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1],
      rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}>
      : (tensor<4x8xf32>, tensor<2x8x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
  // CHECK-NEXT: %3:2 = chlo.scan(%arg0) inits (%arg3) dimension=0  attributes {is_reverse = true, note} {
  // CHECK-NEXT: ^bb0(%input: tensor<8xf32>, %carry: tensor<8xf32>):
  // CHECK-NEXT: %4 = stablehlo.add %input, %carry : tensor<8xf32>
  // CHECK-NEXT: stablehlo.return %4, %4 : tensor<8xf32>, tensor<8xf32>
  // CHECK-NEXT: } : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  %scan:2 = chlo.scan(%x) inits(%init) dimension=0 attributes {is_reverse = true, note} {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %sum = stablehlo.add %a, %b : tensor<8xf32>
    stablehlo.return %sum, %sum : tensor<8xf32>, tensor<8xf32>
  } : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  // CHECK-NEXT: return
  return
}
