// RUN: sdy-run --help | filecheck %s --check-prefix=HELP
// RUN: not sdy-run --interpeter-print-dense %s 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not sdy-run %s %s 2>&1 | filecheck %s --check-prefix=FILES
// RUN: not sdy-run %s --args 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not sdy-run %s --args=1 2>&1 | filecheck %s --check-prefix=LIST
// RUN: not sdy-run nowhere.mlir 2>&1 | filecheck %s --check-prefix=NOWHERE
// RUN: not sdy-run %s 2>&1 | filecheck %s

// HELP: usage: sdy-run [options] [file]
// FLAG: error: unknown option --interpeter-print-dense [SDY-T002]
// FLAG-NEXT: hint: did you mean --interpreter-print-dense?
// FILES: error: expected one input file, got 2
// VALUE: error: --args requires a value
// LIST: error: expected a list of constants, got 1 [SDY-X015]
// NOWHERE: error: cannot read nowhere.mlir
// CHECK: sdy_run_invalid_arguments.mlir:17:1: error: expected 1 inputs for the arguments of @main, got 0 [SDY-X006]
func.func @main(%arg0: tensor<2xi32>) -> tensor<2xi32> {
  return %arg0 : tensor<2xi32>
}
