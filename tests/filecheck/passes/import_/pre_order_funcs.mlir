// Callers come before the functions that they call.
// RUN: sdy-opt %s --sdy-pre-order-funcs | filecheck %s

func.func private @leaf() {
  return
}
func.func @main() {
  call @mid() : () -> ()
  return
}
func.func private @mid() {
  call @leaf() : () -> ()
  return
}

// CHECK: module {
// CHECK-NEXT: func.func @main() {
// CHECK-NEXT: call @mid() : () -> ()
// CHECK-NEXT: return
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @mid() {
// CHECK-NEXT: call @leaf() : () -> ()
// CHECK-NEXT: return
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @leaf() {
// CHECK-NEXT: return
// CHECK-NEXT: }
// CHECK-NEXT: }
