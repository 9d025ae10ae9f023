// RUN: sdy-opt %s | sdy-opt - | filecheck %s
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | filecheck %s

// Functions and modules; names, numbers and attributes of all ops.

// CHECK: func.func public @arguments(%arg0: tensor<4xf32> {my.also, my.first = 1 : i32}, %arg1: i32) -> (tensor<4xf32> {my.result}, i32) attributes {my.note = "x"} {
func.func public @arguments(%a: tensor<4xf32> {my.first = 1 : i32, my.also}, %b: i32)
    -> (tensor<4xf32> {my.result}, i32) attributes {my.note = "x"} {
  // CHECK-NEXT: return %arg0, %arg1 : tensor<4xf32>, i32
  return %a, %b : tensor<4xf32>, i32
}

// CHECK: func.func private @declared(tensor<4xf32> {my.attribute}, i32) -> (i32 {my.result})
func.func private @declared(tensor<4xf32> {my.attribute}, i32) -> (i32 {my.result})

// CHECK: func.func private @"quoted name"()
func.func private @"quoted name"()

// CHECK: func.func nested @constants() {
func.func nested @constants() {
  // CHECK-NEXT: %c5_i32 = arith.constant 5 : i32
  %a = arith.constant 5 : i32
  // CHECK-NEXT: %true = arith.constant true
  %b = arith.constant true
  // CHECK-NEXT: %c-3 = arith.constant -3 : index
  %c = arith.constant -3 : index
  // CHECK-NEXT: %cst = arith.constant dense<1.000000e+00> : tensor<2xf32>
  %d = arith.constant dense<1.0> : tensor<2xf32>
  // CHECK-NEXT: %c5_i32_0 = arith.constant 5 : i32
  %e = arith.constant 5 : i32
  // CHECK-NEXT: return
  return
}

// CHECK: func.func @attributes() attributes {my.array = array<i1: true, false>, my.big = 18446744073709551615 : ui64, my.dictionary = {a, b = 2 : i64}, my.float = 1.000000e-01 : f64, my.floats = array<f32: 1.500000e+00, -2.000000e+00>, my.function = (i32) -> ((i32) -> i32), my.hex = 0x7FC00000 : f32, my.index = 3 : index, my.integer = 7 : i64, my.list = [1, "two", @three, @nested::@"symbol name"], my.negative = -56 : i8, my.string = "tab\09quote\22", my.type = tensor<2x?xf32>, my.unit} {
func.func @attributes() attributes {my.array = array<i1: true, false>, my.big = 18446744073709551615 : ui64,
    my.dictionary = {b = 2 : i64, a}, my.float = 0.1 : f64, my.floats = array<f32: 1.5, -2.0>, my.hex = 0x7FC00000
    : f32, my.index = 3 : index, my.integer = 7, my.list = [1, "two", @three, @nested::@"symbol name"],
    my.negative = 200 : i8, my.string = "tab\09quote\22", my.type = tensor<2x?xf32>, my.unit, my.function = (i32)
    -> ((i32) -> i32)} {
  // CHECK-NEXT: return
  return
}
