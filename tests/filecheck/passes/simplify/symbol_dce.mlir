// Private functions that nobody calls go, in circles too.
// RUN: sdy-opt %s --symbol-dce | filecheck %s

sdy.mesh @m = <["a"=2, "b"=2]>
func.func @main() {
  call @used() : () -> ()
  return
}
func.func private @used() {
  return
}
func.func private @a() {
  call @b() : () -> ()
  return
}
func.func private @b() {
  call @a() : () -> ()
  return
}

// CHECK: module {
// CHECK-NEXT: sdy.mesh @m = <["a"=2, "b"=2]>
// CHECK-NEXT: func.func @main() {
// CHECK-NEXT: call @used() : () -> ()
// CHECK-NEXT: return
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @used() {
// CHECK-NEXT: return
// CHECK-NEXT: }
// CHECK-NEXT: }
