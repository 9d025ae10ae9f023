// RUN: not sdy-run --split-input-file %s 2>&1 | filecheck %s

// A program without functions has no results.

// -----

// The only function is run, whatever its name. Programs after one that fails are run too.

// CHECK: tensor<i32> {7}
func.func @anything() -> tensor<i32> {
  %0 = stablehlo.constant dense<7> : tensor<i32>
  return %0 : tensor<i32>
}

// -----

func.func @main() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %0, dense<[1, 3]> : tensor<2xi32>
  return
}

// -----

// CHECK-NEXT: tensor<i32> {8}
func.func @main() -> tensor<i32> {
  %0 = stablehlo.constant dense<8> : tensor<i32>
  return %0 : tensor<i32>
}

// CHECK: sdy_run_splits_files.mlir:19:3: error: expected 3, got 2 at index [1] [SDY-X008]
// CHECK-NEXT:   check.expect_eq_const %0, dense<[1, 3]> : tensor<2xi32>
