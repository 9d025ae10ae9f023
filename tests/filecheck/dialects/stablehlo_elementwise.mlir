// RUN: sdy-opt %s | sdy-opt - | filecheck %s
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | filecheck %s

// Every elementwise op; if all types are equal, only one is printed.

// CHECK: func.func @unary(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xcomplex<f32>>, %arg2: tensor<4x8xi32>) {
func.func @unary(%x: tensor<4x8xf32>, %z: tensor<4x8xcomplex<f32>>, %n: tensor<4x8xi32>) {
  // CHECK-NEXT: %0 = stablehlo.abs %arg0 : tensor<4x8xf32>
  %abs = stablehlo.abs %x : tensor<4x8xf32>
  // CHECK-NEXT: %1 = stablehlo.abs %arg1 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
  %modulus = stablehlo.abs %z : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
  // CHECK-NEXT: %2 = stablehlo.cbrt %arg0 : tensor<4x8xf32>
  %cbrt = stablehlo.cbrt %x : tensor<4x8xf32>
  // CHECK-NEXT: %3 = stablehlo.ceil %arg0 : tensor<4x8xf32>
  %ceil = stablehlo.ceil %x : tensor<4x8xf32>
  // CHECK-NEXT: %4 = stablehlo.convert %arg0 : tensor<4x8xf32>
  %same = stablehlo.convert %x : tensor<4x8xf32>
  // CHECK-NEXT: %5 = stablehlo.convert %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf64>
  %wide = stablehlo.convert %x : (tensor<4x8xf32>) -> tensor<4x8xf64>
  // CHECK-NEXT: %6 = stablehlo.cosine %arg0 : tensor<4x8xf32>
  %cos = stablehlo.cosine %x : tensor<4x8xf32>
  // CHECK-NEXT: %7 = stablehlo.count_leading_zeros %arg2 : tensor<4x8xi32>
  %clz = stablehlo.count_leading_zeros %n : tensor<4x8xi32>
  // CHECK-NEXT: %8 = stablehlo.exponential %arg0 : tensor<4x8xf32>
  %exp = stablehlo.exponential %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %9 = stablehlo.exponential_minus_one %arg0 : tensor<4x8xf32>
  %expm1 = stablehlo.exponential_minus_one %x : tensor<4x8xf32>
  // CHECK-NEXT: %10 = stablehlo.floor %arg0 : tensor<4x8xf32>
  %floor = stablehlo.floor %x : tensor<4x8xf32>
  // CHECK-NEXT: %11 = stablehlo.imag %arg1 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
  %imag = stablehlo.imag %z : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
  // CHECK-NEXT: %12 = stablehlo.is_finite %arg0 : (tensor<4x8xf32>) -> tensor<4x8xi1>
  %finite = stablehlo.is_finite %x : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %13 = stablehlo.log %arg0 : tensor<4x8xf32>
  %log = stablehlo.log %x : tensor<4x8xf32>
  // CHECK-NEXT: %14 = stablehlo.log_plus_one %arg0 : tensor<4x8xf32>
  %log1p = stablehlo.log_plus_one %x : tensor<4x8xf32>
  // CHECK-NEXT: %15 = stablehlo.logistic %arg0 : tensor<4x8xf32>
  %logistic = stablehlo.logistic %x : tensor<4x8xf32>
  // CHECK-NEXT: %16 = stablehlo.negate %arg0 : tensor<4x8xf32>
  %neg = stablehlo.negate %x : tensor<4x8xf32>
  // CHECK-NEXT: %17 = stablehlo.not %arg2 : tensor<4x8xi32>
  %not = stablehlo.not %n : tensor<4x8xi32>
  // CHECK-NEXT: %18 = stablehlo.popcnt %arg2 : tensor<4x8xi32>
  %popcnt = stablehlo.popcnt %n : tensor<4x8xi32>
  // CHECK-NEXT: %19 = stablehlo.real %arg1 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
  %real = stablehlo.real %z : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
  // CHECK-NEXT: %20 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<4x8xf32>
  %rounded = stablehlo.reduce_precision %x, format = e5m10 : tensor<4x8xf32>
  // CHECK-NEXT: %21 = stablehlo.round_nearest_afz %arg0 : tensor<4x8xf32>
  %afz = stablehlo.round_nearest_afz %x : tensor<4x8xf32>
  // CHECK-NEXT: %22 = stablehlo.round_nearest_even %arg0 : tensor<4x8xf32>
  %even = stablehlo.round_nearest_even %x : tensor<4x8xf32>
  // CHECK-NEXT: %23 = stablehlo.rsqrt %arg0 : tensor<4x8xf32>
  %rsqrt = stablehlo.rsqrt %x : tensor<4x8xf32>
  // CHECK-NEXT: %24 = stablehlo.sign %arg0 : tensor<4x8xf32>
  %sign = stablehlo.sign %x : tensor<4x8xf32>
  // CHECK-NEXT: %25 = stablehlo.sine %arg0 : tensor<4x8xf32>
  %sine = stablehlo.sine %x : tensor<4x8xf32>
  // CHECK-NEXT: %26 = stablehlo.sqrt %arg0 : tensor<4x8xf32>
  %sqrt = stablehlo.sqrt %x : tensor<4x8xf32>
  // CHECK-NEXT: %27 = stablehlo.tan %arg0 : tensor<4x8xf32>
  %tan = stablehlo.tan %x : tensor<4x8xf32>
  // CHECK-NEXT: %28 = stablehlo.tanh %arg0 : tensor<4x8xf32>
  %tanh = stablehlo.tanh %x : tensor<4x8xf32>
  // CHECK-NEXT: return
  return
}

// CHECK: func.func @binary(%arg0: tensor<?x8xf32>, %arg1: tensor<?x8xf32>, %arg2: tensor<3xi32>, %arg3: tensor<3xi1>) {
func.func @binary(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>, %n: tensor<3xi32>, %p: tensor<3xi1>) {
  // CHECK-NEXT: %0 = stablehlo.add %arg0, %arg1 : tensor<?x8xf32>
  %add = stablehlo.add %x, %y : tensor<?x8xf32>
  // CHECK-NEXT: %1 = stablehlo.and %arg2, %arg2 : tensor<3xi32>
  %and = stablehlo.and %n, %n : tensor<3xi32>
  // CHECK-NEXT: %2 = stablehlo.atan2 %arg0, %arg1 : tensor<?x8xf32>
  %atan2 = stablehlo.atan2 %x, %y : tensor<?x8xf32>
  // CHECK-NEXT: %3 = stablehlo.complex %arg0, %arg1 : tensor<?x8xcomplex<f32>>
  %complex = stablehlo.complex %x, %y : tensor<?x8xcomplex<f32>>
  // CHECK-NEXT: %4 = stablehlo.divide %arg0, %arg1 : tensor<?x8xf32>
  %divide = stablehlo.divide %x, %y : tensor<?x8xf32>
  // CHECK-NEXT: %5 = stablehlo.maximum %arg0, %arg1 : tensor<?x8xf32>
  %maximum = stablehlo.maximum %x, %y : tensor<?x8xf32>
  // CHECK-NEXT: %6 = stablehlo.minimum %arg0, %arg1 : tensor<?x8xf32>
  %minimum = stablehlo.minimum %x, %y : tensor<?x8xf32>
  // CHECK-NEXT: %7 = stablehlo.multiply %arg0, %arg1 : tensor<?x8xf32>
  %multiply = stablehlo.multiply %x, %y : tensor<?x8xf32>
  // CHECK-NEXT: %8 = stablehlo.or %arg3, %arg3 : tensor<3xi1>
  %or = stablehlo.or %p, %p : tensor<3xi1>
  // CHECK-NEXT: %9 = stablehlo.power %arg0, %arg1 : tensor<?x8xf32>
  %power = stablehlo.power %x, %y : tensor<?x8xf32>
  // CHECK-NEXT: %10 = stablehlo.remainder %arg0, %arg1 : tensor<?x8xf32>
  %remainder = stablehlo.remainder %x, %y : tensor<?x8xf32>
  // CHECK-NEXT: %11 = stablehlo.shift_left %arg2, %arg2 : tensor<3xi32>
  %left = stablehlo.shift_left %n, %n : tensor<3xi32>
  // CHECK-NEXT: %12 = stablehlo.shift_right_arithmetic %arg2, %arg2 : tensor<3xi32>
  %arithmetic = stablehlo.shift_right_arithmetic %n, %n : tensor<3xi32>
  // CHECK-NEXT: %13 = stablehlo.shift_right_logical %arg2, %arg2 : tensor<3xi32>
  %logical = stablehlo.shift_right_logical %n, %n : tensor<3xi32>
  // CHECK-NEXT: %14 = stablehlo.subtract %arg0, %arg1 : tensor<?x8xf32>
  %subtract = stablehlo.subtract %x, %y : tensor<?x8xf32>
  // CHECK-NEXT: %15 = stablehlo.xor %arg2, %arg2 : tensor<3xi32>
  %xor = stablehlo.xor %n, %n : tensor<3xi32>
  // CHECK-NEXT: %16 = stablehlo.add %arg0, %arg1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<4x8xf32>
  %sum = stablehlo.add %x, %y : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: return
  return
}

// CHECK: func.func @others(%arg0: tensor<4xf32>, %arg1: tensor<4xi1>, %arg2: tensor<i1>, %arg3: tensor<f32>) {
func.func @others(%x: tensor<4xf32>, %p: tensor<4xi1>, %q: tensor<i1>, %s: tensor<f32>) {
  // CHECK-NEXT: %0 = stablehlo.compare EQ, %arg0, %arg0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %eq = stablehlo.compare EQ, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK-NEXT: %1 = stablehlo.compare LT, %arg0, %arg0, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %lt = stablehlo.compare LT, %x, %x, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK-NEXT: %2 = stablehlo.select %arg1, %arg0, %arg0 : tensor<4xi1>, tensor<4xf32>
  %many = stablehlo.select %p, %x, %x : tensor<4xi1>, tensor<4xf32>
  // CHECK-NEXT: %3 = stablehlo.select %arg2, %arg0, %arg0 : tensor<i1>, tensor<4xf32>
  %one = stablehlo.select %q, %x, %x : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %4 = stablehlo.clamp %arg0, %arg0, %arg0 : tensor<4xf32>
  %each = stablehlo.clamp %x, %x, %x : tensor<4xf32>
  // CHECK-NEXT: %5 = stablehlo.clamp %arg3, %arg0, %arg3 : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %scalar = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: %6 = stablehlo.add %arg0, %arg0 {"a b" = "q\22uote\0A", b = 1 : i32, z} : tensor<4xf32>
  %attributes = stablehlo.add %x, %x {z, b = 1 : i32, "a b" = "q\"uote\n"} : tensor<4xf32>
  // CHECK-NEXT: %7 = stablehlo.tanh %arg0 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>
  %accurate = stablehlo.tanh %x
      {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>
  // CHECK-NEXT: %8 = stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  %tolerant = stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, ulps = 3,
      mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  // CHECK-NEXT: %9 = stablehlo.exponential %arg0 : tensor<4xf32>
  %default = stablehlo.exponential %x
      {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<4xf32>
  // CHECK-NEXT: return
  return
}
