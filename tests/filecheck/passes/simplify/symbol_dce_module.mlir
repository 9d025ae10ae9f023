// What calls from inside of an op that is no function counts too.
// RUN: sdy-opt %s --allow-unregistered-dialect --symbol-dce | filecheck %s

// CHECK: func.func private @called
// CHECK-NOT: func.func private @gone
func.func @main() {
  return
}
"test.op"() ({
  func.call @called() : () -> ()
  "test.end"() : () -> ()
}) : () -> ()
func.func private @called() {
  return
}
func.func private @gone() {
  return
}
