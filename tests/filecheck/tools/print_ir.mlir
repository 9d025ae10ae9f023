// RUN: sdy-opt %s -sdy-close-shardings -symbol-dce --mlir-print-ir-after=symbol-dce 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: sdy-opt %s -sdy-close-shardings -symbol-dce --mlir-print-ir-before=sdy-close-shardings 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: sdy-opt %s -sdy-close-shardings -symbol-dce --mlir-print-ir-after-change 2>&1 | filecheck %s --check-prefix=CHANGE

sdy.mesh @m = <["x"=2]>

// AFTER-NOT: IR Dump After sdy-close-shardings
// AFTER: IR Dump After symbol-dce //----- //
// BEFORE: IR Dump Before sdy-close-shardings //----- //
// BEFORE: <@m, [{"x", ?}]>
// BEFORE-NOT: IR Dump
// CHANGE: IR Dump After sdy-close-shardings //----- //
// CHANGE: <@m, [{"x"}]>
// CHANGE-NOT: IR Dump
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}]>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
