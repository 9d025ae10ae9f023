// RUN: sdy-opt %s | sdy-opt - | filecheck %s
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | filecheck %s

// The dialects `check` and `interpreter`.

// CHECK: func.func @checks(%arg0: tensor<2xf32>, %arg1: tensor<2xi32>) {
func.func @checks(%x: tensor<2xf32>, %n: tensor<2xi32>) {
  // CHECK-NEXT: check.expect_eq %arg1, %arg1 : tensor<2xi32>
  check.expect_eq %n, %n : tensor<2xi32>
  // CHECK-NEXT: check.expect_eq_const %arg1, dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %n, dense<[1, 2]> : tensor<2xi32>
  // CHECK-NEXT: check.expect_almost_eq %arg0, %arg0, tolerance = 1.000000e-02 : tensor<2xf32>
  check.expect_almost_eq %x, %x {tolerance = 1.0e-2 : f64} : tensor<2xf32>
  // CHECK-NEXT: check.expect_almost_eq %arg0, %arg0, tolerance = 1.000000e-01 : tensor<2xf32>
  check.expect_almost_eq %x, %x, tolerance = 0.1 : tensor<2xf32>
  // CHECK-NEXT: check.expect_almost_eq %arg0, %arg0 : tensor<2xf32>
  check.expect_almost_eq %x, %x, tolerance = 1.0e-4 : tensor<2xf32>
  // CHECK-NEXT: check.expect_almost_eq_const %arg0, dense<1.000000e+00> : tensor<2xf32> {tolerance = 1.000000e-02 : f64}
  check.expect_almost_eq_const %x, dense<1.0> : tensor<2xf32> {tolerance = 1.0e-2 : f64}
  // CHECK-NEXT: check.expect_close %arg0, %arg0, min_ulp_difference = 1, max_ulp_difference = 4 : tensor<2xf32>, tensor<2xf32>
  check.expect_close %x, %x, min_ulp_difference = 1, max_ulp_difference = 4 : tensor<2xf32>, tensor<2xf32>
  // CHECK-NEXT: check.expect_close %arg0, %arg0, min_ulp_difference = 1 : tensor<2xf32>, tensor<2xf32>
  check.expect_close %x, %x {min_ulp_difference = 1 : ui64} : tensor<2xf32>, tensor<2xf32>
  // CHECK-NEXT: check.expect_serialized_eq %arg1, probe_id = "p", iter = 1 : tensor<2xi32>
  check.expect_serialized_eq %n, probe_id = "p", iter = 1 : tensor<2xi32>
  // CHECK-NEXT: %0 = interpreter.probe %arg1, probe_id = "p" : tensor<2xi32>
  %probed = interpreter.probe %n, probe_id = "p" : tensor<2xi32>
  // CHECK-NEXT: "interpreter.print"(%0) : (tensor<2xi32>) -> ()
  interpreter.print %probed : tensor<2xi32>
  // CHECK-NEXT{LITERAL}: %1:2 = "interpreter.run_parallel"(%arg1, %arg1) <{programs = [[@checks, @checks]]}> : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  %parallel:2 = "interpreter.run_parallel"(%n, %n) <{programs = [[@checks, @checks]]}> : (tensor<2xi32>, tensor<2xi32>)
      -> (tensor<2xi32>, tensor<2xi32>)
  // CHECK-NEXT: return
  return
}
