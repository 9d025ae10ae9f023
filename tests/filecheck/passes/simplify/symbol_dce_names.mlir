// A function stays that an attribute names, with those it calls; one that only a function without callers names goes.
// RUN: sdy-opt %s --symbol-dce | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK: func.func private @named
// CHECK: func.func private @behind
// CHECK-NOT: func.func
func.func @main() {
  stablehlo.custom_call @other() {called_computations = [@named]} : () -> ()
  return
}
func.func private @named() {
  call @behind() : () -> ()
  return
}
func.func private @behind() {
  return
}
func.func private @lost() {
  stablehlo.custom_call @other() {called_computations = [@gone]} : () -> ()
  return
}
func.func private @gone() {
  return
}
